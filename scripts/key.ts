import { addLine, makeKey } from './key/make-key.ts';
import { type KeyOptions, readOptions, USAGE } from './key/read-options.ts';

const SENT_AS = 'the key, shown this once: callers send it as Authorization: Bearer … or X-API-Key';

const make = (options: KeyOptions): 0 | 1 | 2 => {
  const made = makeKey(options);
  if ('problem' in made) {
    console.error(`${made.problem}\n\n${USAGE}`);
    return 2;
  }
  const { file } = options;
  const problem = file === null ? null : tryToAdd(file, made.line);
  if (problem !== null) {
    console.error(
      `No key was made: ${file} could not be written (${problem}). Name a file in a directory that is yours.`,
    );
    return 1;
  }
  // Only the two of them on stdout, for scripts.
  console.log(`${made.key}\n${made.line}`);
  const place =
    file === null ? 'its line for API_KEYS_FILE, or entry of API_KEYS' : `its line, which now is in ${file}`;
  console.error(`\n1. ${SENT_AS}\n2. ${place}`);
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

const main = (): 0 | 1 | 2 => {
  const read = readOptions(process.argv.slice(2));
  if (read.kind === 'make') return make(read.options);
  if (read.kind === 'help') {
    console.log(USAGE);
    return 0;
  }
  console.error(`${read.problem}\n\n${USAGE}`);
  return 2;
};

process.exitCode = main();
