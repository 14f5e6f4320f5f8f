import { showText } from '../../http/show-url.ts';
import { RetryableToolError } from '../../tool-errors.ts';
import { type DriveFile, FoundDriveFile, toDriveFile } from './drive-file.ts';
import { FOLDER, isGoogleFile, SHORTCUT, toDriveExport } from './drive-file-kinds.ts';
import { openDrive } from './drive-requests.ts';
import { DRIVE, type GoogleAccess, type GoogleCall, type GoogleDownload, type GoogleMeaning } from './google-access.ts';
import { toTokenHider } from './google-call.ts';

const FIELDS = 'id,name,mimeType,modifiedTime,webViewLink,shortcutDetails(targetId)';

/** A file that can be read, a shortcut followed once. Rejects with a RetryableToolError where it is a folder or has no text. */
export const readDriveFile = async (google: GoogleAccess, id: string, call: GoogleCall): Promise<DriveFile> => {
  const found = await readMetadata(google, id, call);
  const target = found.mimeType === SHORTCUT ? found.shortcutDetails?.targetId : undefined;
  const last = target === undefined ? found : await readMetadata(google, target, call);
  const file = toDriveFile(last, toTokenHider(call));
  if (file.mimeType === FOLDER)
    throw new RetryableToolError(
      `'${showText(file.name)}' is a folder. Call search_drive to find the files you want, and read one of them.`,
    );
  if (isGoogleFile(file.mimeType) && toDriveExport(file.mimeType) === undefined)
    throw new RetryableToolError(
      `'${showText(file.name)}' is ${showText(file.mimeType)}, which has no text. Choose a Google Doc, Sheet or Slides, or a text file.`,
    );
  return file;
};

/** The beginning of what is in the file: exported where it is one of Google's own, else as it is. */
export const downloadDriveFile = (
  google: GoogleAccess,
  { id, mimeType }: DriveFile,
  maxBytes: number,
  call: GoogleCall,
): Promise<GoogleDownload> => {
  const format = toDriveExport(mimeType)?.mimeType;
  return google.download(
    DRIVE,
    async (auth, send) => {
      const { files } = await openDrive(auth);
      if (format !== undefined) return files.export({ fileId: id, mimeType: format }, send);
      return files.get({ fileId: id, alt: 'media', supportsAllDrives: true }, send);
    },
    call,
    { ...toMeaning(id), maxBytes },
  );
};

const readMetadata = (google: GoogleAccess, id: string, call: GoogleCall) =>
  google.read(
    DRIVE,
    async (auth, send) =>
      (await openDrive(auth)).files.get({ fileId: id, fields: FIELDS, supportsAllDrives: true }, send),
    FoundDriveFile,
    call,
    toMeaning(id),
  );

const toMeaning = (id: string): GoogleMeaning => ({
  missing: (account) =>
    `There is no file '${showText(id)}', or it is not shared with ${account ?? SIGNED_IN}. Call search_drive to find it.`,
  forbidden: (account) =>
    `There is no access to file '${showText(id)}'. A human must share it with ${account ?? SIGNED_IN}.`,
});

const SIGNED_IN = 'the user who signed in';
