import { showText, toText } from '@recourse/toolkit-kit/http';
import { answerShape } from '@recourse/toolkit-kit/page-answers';
import { defineTool, empty, RetryableToolError } from 'recourse-server';
import type { InlineTool } from 'recourse-server/extension';
import * as z from 'zod';
import {
  type DriveFile,
  FOLDER,
  FoundDriveFile,
  findDriveExport,
  findDriveFileId,
  isGoogleFile,
  openDrive,
  parseDriveFile,
  SHORTCUT,
} from './drive-file.ts';
import type { GoogleAccess } from './google-access.ts';
import { beginGoogleCall, createTokenHider, DRIVE, type GoogleCall, type GoogleMeaning } from './google-call.ts';

const FIELDS = 'id,name,mimeType,modifiedTime,webViewLink,shortcutDetails(targetId)';

/** A file that can be read, a shortcut followed once. Rejects with a RetryableToolError where it is a folder or has no text. */
const readDriveFile = async (google: GoogleAccess, id: string, call: GoogleCall): Promise<DriveFile> => {
  const found = await readMetadata(google, id, call);
  const target = found.mimeType === SHORTCUT ? found.shortcutDetails?.targetId : undefined;
  const last = target === undefined ? found : await readMetadata(google, target, call);
  const file = parseDriveFile(last, createTokenHider(call));
  if (file.mimeType === FOLDER)
    throw new RetryableToolError(
      `'${showText(file.name)}' is a folder. Call search_drive to find the files you want, and read one of them.`,
    );
  if (isGoogleFile(file.mimeType) && findDriveExport(file.mimeType) === undefined)
    throw new RetryableToolError(
      `'${showText(file.name)}' is ${showText(file.mimeType)}, which has no text. Choose a Google Doc, Sheet or Slides, or a text file.`,
    );
  return file;
};

/** The beginning of what is in the file: exported where it is one of Google's own, else as it is. */
const downloadDriveFile = (google: GoogleAccess, { id, mimeType }: DriveFile, maxBytes: number, call: GoogleCall) => {
  const format = findDriveExport(mimeType)?.mimeType;
  return google.download(
    DRIVE,
    async (auth, send) => {
      const { files } = await openDrive(auth);
      if (format !== undefined) return files.export({ fileId: id, mimeType: format }, send);
      return files.get({ fileId: id, alt: 'media', supportsAllDrives: true }, send);
    },
    call,
    { ...explainMeaning(id), maxBytes },
  );
};

const readMetadata = (google: GoogleAccess, id: string, call: GoogleCall) =>
  google.read(
    DRIVE,
    async (auth, send) =>
      (await openDrive(auth)).files.get({ fileId: id, fields: FIELDS, supportsAllDrives: true }, send),
    FoundDriveFile,
    call,
    explainMeaning(id),
  );

const explainMeaning = (id: string): GoogleMeaning => ({
  missing: (account) =>
    `There is no file '${showText(id)}', or it is not shared with ${account ?? SIGNED_IN}. Call search_drive to find it.`,
  forbidden: (account) =>
    `There is no access to file '${showText(id)}'. A human must share it with ${account ?? SIGNED_IN}.`,
});

const SIGNED_IN = 'the user who signed in';

const DEFAULT_CHARACTERS = 50_000;
// A character may become six in JSON (\u0001): six times this is still less than the 1 MiB a result may have.
const MOST_CHARACTERS = 150_000;
// Google exports no more than this, and of a file that is larger the rest is out of reach.
const MOST_BYTES = 10_485_760;
// UTF-8 and UTF-16 take at most four for one character.
const BYTES_PER_CHARACTER = 4;

const input = z.object({
  file_id: z
    .string()
    .min(1)
    .max(1_000)
    .describe('The id of a file, as search_drive returns it, or its URL in Drive.')
    .meta({ examples: ['1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms'] }),
  offset: z.int().min(0).max(MOST_BYTES).default(0).describe('Character to begin at; use next_offset to continue.'),
  max_characters: z
    .int()
    .min(1)
    .max(MOST_CHARACTERS)
    .default(DEFAULT_CHARACTERS)
    .describe('Maximum number of characters to return.'),
});

const output = z.object({
  ...answerShape,
  id: z.string(),
  name: z.string(),
  mime_type: z.string().describe('The type of the file in Drive.'),
  modified: z.string().nullable(),
  url: z.string().nullable(),
  content: z.string(),
  truncated: z.boolean().describe('True if there is more: call again with offset = next_offset, if present.'),
  next_offset: z.int().optional(),
});

/** `read_drive_file`: the text of one file. What Google's editors hold is exported. */
export const createReadDriveFile = ({ google }: { readonly google: GoogleAccess }): InlineTool =>
  defineTool({
    name: 'read_drive_file',
    description:
      'Reads one file of Google Drive as text: Google Docs and Slides as plain text, the first sheet of a Google Sheet as CSV, text files as they are. Cannot read PDF, images and other binary files. Long files come in parts: if truncated is true, call again with offset = next_offset.',
    effects: 'read',
    input,
    output,
    run: async ({ file_id: written, ...part }, context) => {
      const call = beginGoogleCall(context);
      const file = await readDriveFile(google, findDriveFileId(written), call);
      return readPart(google, file, part, call);
    },
  });

type Part = { readonly offset: number; readonly max_characters: number };

const readPart = async (
  google: GoogleAccess,
  file: DriveFile,
  { offset, max_characters: limit }: Part,
  call: GoogleCall,
) => {
  const wantedBytes = Math.min((offset + limit + 1) * BYTES_PER_CHARACTER, MOST_BYTES);
  const { bytes, rest } = await downloadDriveFile(google, file, wantedBytes, call);
  const text = toText(bytes, findDriveExport(file.mimeType)?.mimeType ?? file.mimeType, rest);
  if (text === null) throw describeBinary(file);
  if (offset > text.length)
    throw new RetryableToolError(
      `offset ${offset} is past the readable end of '${showText(file.name)}', at ${text.length} characters. Send a smaller offset.`,
    );
  const next = offset + cutBetweenCharacters(text.slice(offset, offset + limit + 1), limit).length;
  // Once it is decoded, and of this part alone: it costs three hundredths of a second at most.
  const content = createTokenHider(call)(text, { from: offset, to: next });
  return createAnswer(file, { content, offset, next: next < text.length ? next : null, isCut: rest === 'cut' });
};

const createAnswer = (
  { id, name, mimeType, modifiedTime, webViewLink }: DriveFile,
  part: { readonly content: string; readonly offset: number; readonly next: number | null; readonly isCut: boolean },
) => {
  const { content, offset, next, isCut } = part;
  const kind = findDriveExport(mimeType);
  const title = `'${showText(name)}' (${kind?.name ?? showText(mimeType)})`;
  const value = {
    id,
    name,
    mime_type: mimeType,
    modified: modifiedTime,
    url: webViewLink,
    content,
    truncated: next !== null || isCut,
    ...(next === null ? {} : { next_offset: next }),
  };
  if (content === '') {
    const display = offset === 0 ? `${title} is empty.` : `The end of ${title} is reached.`;
    return empty(display, { display, count: 0, ...value });
  }
  const note = kind?.note ?? '';
  return { display: `${title}, ${content.length} characters.${note}${adviseOn(value)}`, count: 1, ...value };
};

const adviseOn = ({ truncated, next_offset: next }: { readonly truncated: boolean; readonly next_offset?: number }) => {
  if (next !== undefined) return ` There is more: call again with offset ${next}.`;
  return truncated ? ` The rest cannot be read: only the first ${MOST_BYTES} bytes of a file are readable.` : '';
};

/** At most `limit` characters, and no half of a surrogate pair at the end unless there is nothing else. */
const cutBetweenCharacters = (text: string, limit: number): string => {
  if (text.length <= limit) return text;
  const splitsPair = /[\ud800-\udbff]$/.test(text.slice(0, limit)) && limit > 1;
  return text.slice(0, splitsPair ? limit - 1 : limit);
};

const describeBinary = ({ name, mimeType }: DriveFile): RetryableToolError =>
  new RetryableToolError(
    `'${showText(name)}' is ${showText(mimeType)}, not text. Choose a text file, a Google Doc, Sheet or Slides, or ask a human to convert it.`,
  );
