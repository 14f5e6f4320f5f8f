import type { CommandEnd, Terminal } from '../terminal/cli-context.ts';
import { type KeyWords, toKeyOptions } from './key-options.ts';
import { addLine, makeKey } from './make-key.ts';

const SENT_AS = 'the key, shown this once: callers send it as Authorization: Bearer … or X-API-Key';

/** Makes an API key, shows it once, and adds its line to a file where one is named. */
export const runKey = (words: KeyWords, { write, writeError }: Terminal): CommandEnd => {
  const options = toKeyOptions(words);
  if ('wrong' in options) return options;
  const made = makeKey(options);
  if ('problem' in made) return { wrong: made.problem };
  const { file } = options;
  const problem = file === null ? null : tryToAdd(file, made.line);
  if (problem !== null) {
    writeError(
      `No key was made: ${file} could not be written (${problem}). Name a file in a directory that is yours.\n`,
    );
    return 1;
  }
  // Only the two of them on stdout, for scripts.
  write(`${made.key}\n${made.line}\n`);
  const place =
    file === null ? 'its line for API_KEYS_FILE, or entry of API_KEYS' : `its line, which now is in ${file}`;
  writeError(`\n1. ${SENT_AS}\n2. ${place}\n`);
  return 0;
};

const tryToAdd = (file: string, line: string): string | null => {
  try {
    addLine(file, line);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
};
