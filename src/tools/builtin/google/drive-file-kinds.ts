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

/** How a file of Google's own editors is read as text. */
export type DriveExport = { readonly name: string; readonly mimeType: string; readonly note: string };

const EXPORTS: ReadonlyMap<string, DriveExport> = new Map([
  [`${GOOGLE}document`, { name: 'Google Doc', mimeType: 'text/plain', note: '' }],
  [
    `${GOOGLE}spreadsheet`,
    { name: 'Google Sheet', mimeType: 'text/csv', note: ' Only its first sheet is here, as CSV.' },
  ],
  [`${GOOGLE}presentation`, { name: 'Google Slides', mimeType: 'text/plain', note: '' }],
]);

/** How a file of this type is exported; undefined where it is no Google file, or has no text. */
export const toDriveExport = (mimeType: string): DriveExport | undefined => EXPORTS.get(mimeType);

/** Whether it lives in an editor of Google's, so that there are no bytes to download. */
export const isGoogleFile = (mimeType: string): boolean => mimeType.startsWith(GOOGLE);
