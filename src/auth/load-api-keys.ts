import { type ApiKey, parseApiKey } from './api-key.ts';

/** Where keys stand: the entries of API_KEYS, and the text of API_KEYS_FILE where there is one. */
export type KeySources = { readonly entries: readonly string[]; readonly fileText: string | null };

export type LoadedKeys = {
  readonly keys: readonly ApiKey[];
  /** Each names its entry or its line, and says what to do; the last may count those beyond the first twenty. */
  readonly mistakes: readonly string[];
};

// Whoever reads them mends the first few, or sees that the file is the wrong one.
const MAX_MISTAKES = 20;

type Place = { readonly where: string; readonly entry: string };

/** All keys, and the mistakes in them at once. One key twice is a mistake: its rights would be whichever is found first. */
export const loadApiKeys = ({ entries, fileText }: KeySources): LoadedKeys => {
  const places: readonly Place[] = [
    ...entries.map((entry, position) => ({ where: `entry ${position + 1} of API_KEYS`, entry })),
    ...toLines(fileText ?? ''),
  ];
  const keys: ApiKey[] = [];
  const mistakes: string[] = [];
  const seen = new Map<string, string>();
  for (const { where, entry } of places) {
    const parsed = parseApiKey(entry);
    if (!parsed.ok) {
      mistakes.push(`${where} ${parsed.mistake}`);
      continue;
    }
    const hash = parsed.key.hash.toString('hex');
    const before = seen.get(hash);
    seen.set(hash, before ?? where);
    if (before === undefined) keys.push(parsed.key);
    else mistakes.push(`${where} has the key of ${before} again; leave one out`);
  }
  return { keys, mistakes: toFirst(mistakes) };
};

const toFirst = (mistakes: readonly string[]): readonly string[] =>
  mistakes.length <= MAX_MISTAKES
    ? mistakes
    : [...mistakes.slice(0, MAX_MISTAKES), `… and ${mistakes.length - MAX_MISTAKES} more`];

/**
 * The lines of a file that are not blank and no comment, counted from 1 as editors do, whatever they end in: with CR
 * alone a file that begins with a comment would be one comment. A byte order mark is no harm.
 */
const toLines = (text: string): readonly Place[] =>
  text.split(/\r\n?|\n/).flatMap((line, position) => {
    const entry = line.trim();
    return entry === '' || entry.startsWith('#') ? [] : [{ where: `line ${position + 1}`, entry }];
  });
