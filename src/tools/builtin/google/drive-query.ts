/** What to look for in Drive. */
export type DriveSearch = {
  readonly words: string;
  readonly mimeTypes: readonly string[];
  /** The first day, YYYY-MM-DD, in UTC. */
  readonly modifiedAfter: string | undefined;
};

/**
 * A search for words in the names and texts of files, folders included, without what is in the trash, in Drive's query
 * language (https://developers.google.com/workspace/drive/api/guides/ref-search-terms). No text breaks out of its quotes.
 */
export const toDriveQuery = ({ words, mimeTypes, modifiedAfter }: DriveSearch): string => {
  const plain = words.replace(/[\s\p{Cc}]+/gu, ' ').trim();
  const kinds = mimeTypes.map((type) => `mimeType = ${quote(type)}`).join(' or ');
  return [
    `(name contains ${quote(plain.replaceAll('"', ''))} or fullText contains ${quote(toPhrases(plain))})`,
    'trashed = false',
    ...(kinds === '' ? [] : [`(${kinds})`]),
    ...(modifiedAfter === undefined ? [] : [`modifiedTime >= ${quote(`${modifiedAfter}T00:00:00`)}`]),
  ].join(' and ');
};

// The two signs that mean something within quotes.
const quote = (text: string): string => `'${text.replace(/[\\']/g, '\\$&')}'`;

// Double quotes make a phrase of words; one that has no partner is a mistake for Drive.
const toPhrases = (text: string): string => ((text.split('"').length - 1) % 2 === 0 ? text : text.replaceAll('"', ''));
