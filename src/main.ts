import { readFileSync } from 'node:fs';
import { constants, enableCompileCache } from 'node:module';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { parseEnv } from 'node:util';
import type { CliContext, ExitCode } from './cli/terminal.ts';
import type { LoadedEnvironment } from './config/read-configuration.ts';
import { INSTALLATION, PACKAGE_ROOT } from './files/own-package.ts';

/**
 * Keeps what Node compiles for the next start, of modules that are imported from now on and of tool hosts: in `node_modules`,
 * unless NODE_COMPILE_CACHE names a place. Where that cannot be written to, a start only takes longer.
 */
const keepCompiledCode = (): void => {
  const modules = INSTALLATION === PACKAGE_ROOT ? join(PACKAGE_ROOT, 'node_modules') : INSTALLATION;
  const directory = join(modules, '.cache/recourse/compiled');
  // ALREADY_ENABLED where the variable is set.
  if (enableCompileCache(directory).status === constants.compileCacheStatus.ENABLED)
    process.env['NODE_COMPILE_CACHE'] = directory;
};

/** Does what the words of a command line ask for; without words it serves, and no parser is loaded. */
const run = async (words: readonly string[], context: CliContext): Promise<ExitCode | 'serving'> => {
  if (words.length > 0) return (await import('@recourse/cli/program')).runProgram(words, context);
  await (await import('./cli/serve-command.ts')).serve({}, context);
  return 'serving';
};

// Where there is one, it is read without being named.
const STANDARD_FILE = '.env';

// As process.loadEnvFile, which says of no file why it cannot be read: into the environment itself, of which packages read
// variables of their own. What is set there already stays.
const loadEnvironment = (named?: string): LoadedEnvironment => {
  const before = { ...process.env };
  const file = resolve(named ?? STANDARD_FILE);
  try {
    const text = readFileSync(file, 'utf8');
    if (text.includes('\0')) return { variables: before, before, file: null, mistake: toUtf16Mistake(file) };
    // Editors of Windows begin a file with a byte order mark, which `parseEnv` takes for a part of the first name.
    const added = parseEnv(text.replace(/^\ufeff/, ''));
    for (const [name, value] of Object.entries(added)) process.env[name] ??= value;
    return { variables: { ...process.env }, before, file, mistake: null };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    if (code === 'ENOENT' && named === undefined) return { variables: before, before, file: null, mistake: null };
    const mistake = `The environment file ${file} cannot be read (${code}): fix it, or name another with --env-file.`;
    return { variables: before, before, file: null, mistake };
  }
};

// Every line of such a file would be lost, the names of key files as well.
const toUtf16Mistake = (file: string): string =>
  `The environment file ${file} is not UTF-8 text (it contains NUL, as UTF-16 does): save it as UTF-8.`;

const ask = async (question: string): Promise<string> => {
  process.stderr.write(question);
  // A terminal gives a line at a time.
  for await (const line of process.stdin) return String(line);
  return '';
};

keepCompiledCode();
const { stdout, stderr, stdin } = process;
// Who reads may have read enough, as `head` has: no reason for a stack, nor for another exit code.
for (const stream of [stdout, stderr])
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
const code = await run(process.argv.slice(2), {
  terminal: {
    write: (words) => void stdout.write(words),
    writeError: (words) => void stderr.write(words),
    // A file or another program gets whole lines; only a terminal would break them. Some do not know their width.
    columns: stdout.columns > 0 ? stdout.columns : Number.POSITIVE_INFINITY,
    colors: stdout.isTTY && !process.env['NO_COLOR'] ? 'on' : 'off',
  },
  loadEnvironment,
  readInput: () => text(stdin),
  ask: stdin.isTTY ? ask : null,
});
if (code !== 'serving') process.exitCode = code;
