import { hash, randomBytes } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { parseApiKey } from 'recourse-server/auth/api-keys';
import { isTenant } from 'recourse-server/auth/callers';
import { type ExitCode, type Terminal, toPlainText } from 'recourse-server/cli/terminal';
import { CommandFailed, readMessage, WrongUse } from './command-output.ts';

/** Each as it was written on the command line. */
export type KeyWords = {
  readonly tenant?: string;
  readonly name?: string;
  readonly tools?: string;
  readonly may?: string;
  readonly rate?: string;
  readonly expires?: string;
  readonly file?: string;
  readonly store?: true;
};

const ATTRIBUTES = ['name', 'tools', 'may', 'rate', 'expires'] as const;
const STORE_STEPS = `
An entry for STORE_KEYS, shown only once. The first entry seals, all open.
To replace a key, with a restart of every replica and worker after each step:
1. add this entry as the last  2. make it the first  3. after 25 hours remove the old one
`;
const SENT_AS = 'the key, shown only once: callers send it as Authorization: Bearer … or X-API-Key';

/**
 * Makes an API key, `rcs_` and 32 random bytes in base64url, and shows it once. The line that the service is given is added
 * to a file where one is named, else it stands on stdout behind the key.
 */
export const runKey = (words: KeyWords, { write, writeError }: Pick<Terminal, 'write' | 'writeError'>): ExitCode => {
  const { tenant, file, store, ...others } = words;
  if (store === true) return runStoreKey([tenant, file, ...Object.values(others)], { write, writeError });
  if (tenant === undefined) throw new WrongUse('--tenant is missing: it names the owner of the key.');
  if (!isTenant(tenant))
    throw new WrongUse('--tenant must be 1 to 64 letters, digits, _ . and -, and not `anonymous`, which is reserved.');
  if (file === '') throw new WrongUse('--file must name a file.');
  const key = `rcs_${randomBytes(32).toString('base64url')}`;
  const line = [`${tenant}=${hash('sha256', key)}`, ...readAttributes(words)].join(' ');
  const parsed = parseApiKey(line);
  if (!parsed.ok) throw new WrongUse(`The key ${parsed.mistake}.`);
  // On stdout only what a script has no other place to take from.
  if (file === undefined) {
    write(`${key}\n${line}\n`);
    writeError(`\n1. ${SENT_AS}\n2. its line for API_KEYS_FILE, or its entry for API_KEYS\n`);
    return 0;
  }
  addLine(file, line);
  write(`${key}\n`);
  writeError(`\n${SENT_AS}\nits line, added to ${toPlainText(file)}:\n${line}\n`);
  return 0;
};

/** Makes a key of the store, which seals what workers run, and shows it once. */
const runStoreKey = (
  others: readonly (string | undefined)[],
  { write, writeError }: Pick<Terminal, 'write' | 'writeError'>,
): ExitCode => {
  if (others.some((word) => word !== undefined))
    throw new WrongUse(
      '--store makes a key of the store, which has no tenant and no permissions: leave out the other options.',
    );
  write(`${randomBytes(4).toString('hex')}:${randomBytes(32).toString('base64')}\n`);
  writeError(STORE_STEPS);
  return 0;
};

/** Words of the entry after the hash, such as `may=call`. */
const readAttributes = (words: KeyWords): readonly string[] =>
  ATTRIBUTES.flatMap((name) => {
    const { [name]: value } = words;
    if (value === undefined) return [];
    if (/\s/.test(value)) throw new WrongUse(`--${name} must not contain spaces.`);
    return [`${name}=${value}`];
  });

/** Adds a line to a file of keys; only its owner may read the file where this makes it. */
const addLine = (file: string, line: string): void => {
  try {
    const before = existsSync(file) ? readFileSync(file, 'utf8') : '';
    const gap = before === '' || before.endsWith('\n') ? '' : '\n';
    appendFileSync(file, `${gap}${line}\n`, { mode: 0o600 });
  } catch (error) {
    throw new CommandFailed(
      `No key was created: ${file} could not be written (${readMessage(error)}). Name a file in a directory you can write to.`,
    );
  }
};
