import * as z from 'zod';
import { DriveFileId } from './drive-file-id.ts';
import type { HideSecrets } from './hide-secrets.ts';
import { toLine, toLink } from './plain-text.ts';

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
export const toDriveFile = (found: z.output<typeof FoundDriveFile>, hide: HideSecrets): DriveFile => ({
  id: hide(found.id),
  name: toLine(found.name, { most: MOST_NAME_CHARACTERS, hide }),
  mimeType: toLine(found.mimeType, { most: MOST_TYPE_CHARACTERS, hide }),
  modifiedTime: found.modifiedTime,
  webViewLink: toLink(found.webViewLink, hide),
});
