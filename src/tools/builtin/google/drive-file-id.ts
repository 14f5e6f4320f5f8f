import * as z from 'zod';
import { showText } from '../../http/show-url.ts';
import { RetryableToolError } from '../../tool-errors.ts';

const ID = /^[\w-]{1,200}$/;

/** The id of a file as Google gives it. It is put into paths of further requests. */
export const DriveFileId = z.string().regex(ID);

const HOSTS: ReadonlySet<string> = new Set([
  'docs.google.com',
  'drive.google.com',
  'sheets.google.com',
  'slides.google.com',
]);

/** The id of a file, from an id or from an address of Drive or its editors. Throws a RetryableToolError where there is none. */
export const toDriveFileId = (written: string): string => {
  const text = written.trim();
  if (ID.test(text)) return text;
  const id = findId(text);
  if (id !== null) return id;
  throw new RetryableToolError(
    `'${showText(text)}' is no id of a file in Google Drive, and no address of one. Call search_drive to find it.`,
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
