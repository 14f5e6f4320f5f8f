import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import type { CommandEnd, Terminal } from '../terminal/cli-context.ts';
import { findPackage } from '../terminal/find-package.ts';
import { toPlainText } from '../terminal/plain-text.ts';
import { toTemplateFiles } from './template-files.ts';

/** Makes a tools directory that loads, whose test passes and whose types check. Overwrites nothing. */
export const runInit = (directory: string, terminal: Terminal): CommandEnd => {
  if (directory === '') return { wrong: 'The directory needs a name.' };
  const root = resolve(directory);
  const recourse = findPackage(root);
  const files = toTemplateFiles({
    name: toPackageName(root),
    recourse: { ...recourse, fromTools: relative(root, recourse.root) },
  });
  const there = [...files.keys()].filter((path) => existsSync(join(root, path)));
  if (there.length > 0) {
    const few = there.join(', ');
    terminal.writeError(
      `recourse: nothing was made: ${toPlainText(directory)} has ${few} already. Name another directory.\n`,
    );
    return 1;
  }
  const problem = tryToWrite(root, files, recourse.kind === 'checkout' ? recourse.root : null);
  if (problem !== null) {
    terminal.writeError(`recourse: ${toPlainText(directory)} could not be written: ${toPlainText(problem)}.\n`);
    return 1;
  }
  const shown = relative(process.cwd(), root) || '.';
  terminal.write(`Made ${shown}: ${[...files.keys()].join(', ')}.\n\nNext:\n\n`);
  const commands = toCommands(shown, recourse);
  const width = Math.max(...commands.map(([command]) => command.length));
  for (const [command, what] of commands) terminal.write(`  ${command.padEnd(width)}   ${what}\n`);
  return 0;
};

const toCommands = (directory: string, { kind, command }: ReturnType<typeof findPackage>) => [
  ...(kind === 'missing' ? [[`npm install --prefix ${quote(directory)}`, 'installs recourse there'] as const] : []),
  [`npm test --prefix ${quote(directory)}`, 'runs the test of the tool'] as const,
  [`${command} check ${quote(directory)}`, 'loads it as the service does'] as const,
  [`${command} call --tools ${quote(directory)} roll_dice count=2 sides=6`, 'calls it'] as const,
  [`${command} --tools ${quote(directory)}`, 'serves it'] as const,
];

const quote = (path: string): string => (/^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`);

const tryToWrite = (root: string, files: ReadonlyMap<string, string>, linked: string | null): string | null => {
  try {
    mkdirSync(root, { recursive: true });
    // Not over what another process has made meanwhile.
    for (const [path, text] of files) writeFileSync(join(root, path), text, { flag: 'wx' });
    if (linked === null) return null;
    const link = join(root, 'node_modules/recourse');
    mkdirSync(dirname(link), { recursive: true });
    if (!existsSync(link)) symlinkSync(linked, link, 'junction');
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
};

/** What npm takes for the name of a package. */
const toPackageName = (root: string): string =>
  basename(root)
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[._-]+/, '') || 'tools';
