import * as z from 'zod';
import { defineTool } from '../../define-tool.ts';
import { showText } from '../../http/show-url.ts';
import { toText } from '../../http/text-content.ts';
import type { InlineTool } from '../../tool.ts';
import { RetryableToolError } from '../../tool-errors.ts';
import { empty } from '../../tool-values.ts';
import { answerShape } from '../answers.ts';
import type { DriveFile } from './drive-file.ts';
import { toDriveFileId } from './drive-file-id.ts';
import { toDriveExport } from './drive-file-kinds.ts';
import { downloadDriveFile, readDriveFile } from './drive-files.ts';
import type { GoogleAccess, GoogleCall } from './google-access.ts';
import { beginGoogleCall, toTokenHider } from './google-call.ts';

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
    .describe('The id of a file, as search_drive gives it, or its address in Drive.')
    .meta({ examples: ['1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms'] }),
  offset: z.int().min(0).max(MOST_BYTES).default(0).describe('Character to begin at; use next_offset to go on.'),
  max_characters: z
    .int()
    .min(1)
    .max(MOST_CHARACTERS)
    .default(DEFAULT_CHARACTERS)
    .describe('How much to return at most.'),
});

const output = z.object({
  ...answerShape,
  id: z.string(),
  name: z.string(),
  mime_type: z.string().describe('What the file is in Drive.'),
  modified: z.string().nullable(),
  url: z.string().nullable(),
  content: z.string(),
  truncated: z.boolean().describe('There is more: call again with offset = next_offset where there is one.'),
  next_offset: z.int().optional(),
});

/** `read_drive_file`: the text of one file. What Google's editors hold is exported. */
export const createReadDriveFile = ({ google }: { readonly google: GoogleAccess }): InlineTool =>
  defineTool({
    name: 'read_drive_file',
    description:
      'Reads one file of Google Drive as text: Google Docs and Slides as plain text, the first sheet of a Google Sheet as CSV, text files as they are. Cannot read PDF, images and other binary files. Long files come in parts: where the value says truncated, call again with offset = next_offset.',
    effects: 'read',
    input,
    output,
    run: async ({ file_id: written, ...part }, context) => {
      const call = beginGoogleCall(context);
      const file = await readDriveFile(google, toDriveFileId(written), call);
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
  const text = toText(bytes, toDriveExport(file.mimeType)?.mimeType ?? file.mimeType, rest);
  if (text === null) throw toBinary(file);
  if (offset > text.length)
    throw new RetryableToolError(
      `offset ${offset} is past what can be read of '${showText(file.name)}': ${text.length} characters. Send a smaller offset.`,
    );
  const next = offset + cutBetweenCharacters(text.slice(offset, offset + limit + 1), limit).length;
  // Once it is decoded, and of this part alone: it costs three hundredths of a second at most.
  const content = toTokenHider(call)(text, { from: offset, to: next });
  return toAnswer(file, { content, offset, next, isMore: next < text.length, isOutOfReach: rest === 'cut' });
};

type Content = {
  readonly content: string;
  readonly offset: number;
  readonly next: number;
  readonly isMore: boolean;
  readonly isOutOfReach: boolean;
};

const toAnswer = (file: DriveFile, { content, offset, next, isMore, isOutOfReach }: Content) => {
  const { id, mimeType, modifiedTime, webViewLink } = file;
  const kind = toDriveExport(mimeType);
  const title = `'${showText(file.name)}' (${kind?.name ?? showText(mimeType)})`;
  const value = {
    id,
    name: file.name,
    mime_type: mimeType,
    modified: modifiedTime,
    url: webViewLink,
    content,
    truncated: isMore || isOutOfReach,
    ...(isMore ? { next_offset: next } : {}),
  };
  if (content === '') {
    const display = offset === 0 ? `${title} is empty.` : `The end of ${title} is reached.`;
    return empty(display, { display, count: 0, ...value });
  }
  const note = kind?.note ?? '';
  return { display: `${title}, ${content.length} characters.${note}${toAdvice(value)}`, count: 1, ...value };
};

const toAdvice = ({ truncated, next_offset: next }: { readonly truncated: boolean; readonly next_offset?: number }) => {
  if (next !== undefined) return ` There is more: call again with offset ${next}.`;
  return truncated ? ` The rest cannot be read: only the first ${MOST_BYTES} bytes of a file are.` : '';
};

/** At most `limit` characters, and no half of a surrogate pair at the end unless there is nothing else. */
const cutBetweenCharacters = (text: string, limit: number): string => {
  if (text.length <= limit) return text;
  const splitsPair = /[\ud800-\udbff]$/.test(text.slice(0, limit)) && limit > 1;
  return text.slice(0, splitsPair ? limit - 1 : limit);
};

const toBinary = ({ name, mimeType }: DriveFile): RetryableToolError =>
  new RetryableToolError(
    `'${showText(name)}' is ${showText(mimeType)}, not text. Choose a text file, a Google Doc, Sheet or Slides, or ask a human to convert it.`,
  );
