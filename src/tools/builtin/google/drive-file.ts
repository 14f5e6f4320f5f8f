import * as z from 'zod';
import { DriveFileId } from './drive-file-id.ts';
import { toLine, toLink } from './plain-text.ts';

const MOST_NAME_CHARACTERS = 500;
// RFC 6838 allows 255.
const MOST_TYPE_CHARACTERS = 255;

const Time = z.iso.datetime({ offset: true }).max(64).nullable().catch(null);

/** What Drive says of a file, its texts as they may be shown. */
export const DriveFile = z.object({
  id: DriveFileId,
  name: z.string().transform((name) => toLine(name, MOST_NAME_CHARACTERS)),
  mimeType: z.string().transform((type) => toLine(type, MOST_TYPE_CHARACTERS)),
  modifiedTime: Time.default(null),
  webViewLink: z.string().nullish().transform(toLink),
  shortcutDetails: z.object({ targetId: DriveFileId }).nullish(),
});
export type DriveFile = z.output<typeof DriveFile>;
