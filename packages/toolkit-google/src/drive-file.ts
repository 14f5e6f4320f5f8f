import type { drive_v3 } from '@googleapis/drive';
import { showText } from '@recourse/toolkit-kit/http';
import type { OAuth2Client } from 'google-auth-library';
import { RetryableToolError } from 'recourse-server';
import * as z from 'zod';
import { joinLine, writeLink } from './email-text.ts';
import type { HideSecrets } from './hide-secrets.ts';

const ID = /^[\w-]{1,200}$/;

/** The id of a file as Google gives it. It is put into paths of further requests. */
const DriveFileId = z.string().regex(ID);

const HOSTS: ReadonlySet<string> = new Set([
  'docs.google.com',
  'drive.google.com',
  'sheets.google.com',
  'slides.google.com',
]);

/** The id of a file, from an id or from an address of Drive or its editors. Throws a RetryableToolError where there is none. */
export const findDriveFileId = (written: string): string => {
  const text = written.trim();
  if (ID.test(text)) return text;
  const id = findId(text);
  if (id !== null) return id;
  throw new RetryableToolError(
    `'${showText(text)}' is not the id or URL of a Google Drive file. Call search_drive to find the file.`,
  );
};

const findId = (text: string): string | null => {
  const url = URL.parse(text);
  if (url === null || !HOSTS.has(url.hostname)) return null;
  // …/document/d/{id}/edit, …/drive/folders/{id}, …/open?id={id}, …/u/0/d/{id}
  const [, inPath] = /\/(?:d|folders)\/([\w-]{1,200})(?:\/|$)/.exec(url.pathname) ?? [];
  const id = inPath ?? url.searchParams.get('id') ?? '';
  return ID.test(id) ? id : null;
};

const GOOGLE = 'application/vnd.google-apps.';

export const FOLDER = `${GOOGLE}folder`;
export const SHORTCUT = `${GOOGLE}shortcut`;

/** The kinds a search can be limited to. */
export const DRIVE_KINDS = {
  document: [`${GOOGLE}document`, 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
  spreadsheet: [
    `${GOOGLE}spreadsheet`,
    'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
    'text/csv',
  ],
  presentation: [`${GOOGLE}presentation`, 'application/vnd.openxmlformats-officedocument.presentationml.presentation'],
  text: ['text/plain', 'text/markdown'],
  pdf: ['application/pdf'],
  folder: [FOLDER],
} as const satisfies Readonly<Record<string, readonly string[]>>;

type DriveExport = { readonly name: string; readonly mimeType: string; readonly note: string };

const EXPORTS: ReadonlyMap<string, DriveExport> = new Map([
  [`${GOOGLE}document`, { name: 'Google Doc', mimeType: 'text/plain', note: '' }],
  [
    `${GOOGLE}spreadsheet`,
    { name: 'Google Sheet', mimeType: 'text/csv', note: ' Only its first sheet is shown, as CSV.' },
  ],
  [`${GOOGLE}presentation`, { name: 'Google Slides', mimeType: 'text/plain', note: '' }],
]);

/** How a file of this type is exported; undefined where it is no Google file, or has no text. */
export const findDriveExport = (mimeType: string): DriveExport | undefined => EXPORTS.get(mimeType);

/** Whether it lives in an editor of Google's, so that there are no bytes to download. */
export const isGoogleFile = (mimeType: string): boolean => mimeType.startsWith(GOOGLE);

const MOST_NAME_CHARACTERS = 500;
// RFC 6838 allows 255.
const MOST_TYPE_CHARACTERS = 255;

const Time = z.iso.datetime({ offset: true }).max(64).nullable().catch(null);

/** What Drive says of a file. */
export const FoundDriveFile = z.object({
  id: DriveFileId,
  name: z.string(),
  mimeType: z.string(),
  modifiedTime: Time.default(null),
  webViewLink: z.string().nullish(),
  shortcutDetails: z.object({ targetId: DriveFileId }).nullish(),
});

/** A file of Drive, its texts as they may be shown. */
export type DriveFile = {
  readonly id: string;
  readonly name: string;
  readonly mimeType: string;
  readonly modifiedTime: string | null;
  readonly webViewLink: string | null;
};

/** Such a file of what Drive says, its texts without these secrets, and cut. */
export const parseDriveFile = (found: z.output<typeof FoundDriveFile>, hide: HideSecrets): DriveFile => ({
  id: hide(found.id),
  name: joinLine(found.name, { most: MOST_NAME_CHARACTERS, hide }),
  mimeType: joinLine(found.mimeType, { most: MOST_TYPE_CHARACTERS, hide }),
  modifiedTime: found.modifiedTime,
  webViewLink: writeLink(found.webViewLink, hide),
});

// With the first call: the library is some megabytes that a service which never asks Drive need not pay.
/** Google's own client for Drive. */
export const openDrive = async (auth: OAuth2Client): Promise<drive_v3.Drive> =>
  (await import('@googleapis/drive')).drive({ version: 'v3', auth, universeDomain: 'googleapis.com' });
