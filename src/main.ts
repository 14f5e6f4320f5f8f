import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { parseEnv } from 'node:util';
import { runCli } from './cli/run-cli.ts';
import type { LoadedEnvironment } from './cli/terminal/cli-context.ts';
import { keepCompiledCode } from './compiled-code.ts';

// Where there is one, it is read without being named.
const STANDARD_FILE = '.env';

// As process.loadEnvFile, which says of no file why it cannot be read: into the environment itself, of which packages read
// variables of their own. What is set there already stays.
const loadEnvironment = (named?: string): LoadedEnvironment => {
  const before = { ...process.env };
  const file = resolve(named ?? STANDARD_FILE);
  try {
    const added = parseEnv(readFileSync(file, 'utf8'));
    for (const [name, value] of Object.entries(added)) process.env[name] ??= value;
    return { variables: { ...process.env }, before, file, mistake: null };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    if (code === 'ENOENT' && named === undefined) return { variables: before, before, file: null, mistake: null };
    const mistake = `The file of variables ${file} cannot be read (${code}): mend it, or name another with --env-file.`;
    return { variables: before, before, file: null, mistake };
  }
};

keepCompiledCode(process.env);
const { stdout, stderr, stdin } = process;
// Who reads may have read enough, as `head` has: no reason for a stack, nor for another exit code.
for (const stream of [stdout, stderr])
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
const code = await runCli(process.argv.slice(2), {
  terminal: {
    write: (words) => void stdout.write(words),
    writeError: (words) => void stderr.write(words),
    // A file or another program gets whole lines; only a terminal would break them. Some do not know their width.
    columns: stdout.columns > 0 ? stdout.columns : Number.POSITIVE_INFINITY,
    colors: stdout.isTTY && !process.env['NO_COLOR'] ? 'on' : 'off',
  },
  loadEnvironment,
  readInput: () => text(stdin),
});
if (code !== 'serving') process.exitCode = code;
