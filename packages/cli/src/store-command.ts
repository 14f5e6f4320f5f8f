import { resolve } from 'node:path';
import { askForCopy } from '@recourse/store-sqlite/sqlite-copies';
import { withoutSqliteWarning } from '@recourse/store-sqlite/sqlite-warning';
import { type ExitCode, type Terminal, toPlainText } from 'recourse-server/cli/terminal';
import type { LoadedEnvironment } from 'recourse-server/config/read-configuration';
import { parseStore } from 'recourse-server/config/settings/store-choice';
import { CommandFailed, readMessage, WrongUse } from './command-output.ts';

/** Copies the file of SQLite that STORE names: by the service that uses it, or here where none does. */
export const runStore = async (
  [word = '', file = '']: readonly string[],
  { variables }: LoadedEnvironment,
  { write }: Terminal,
): Promise<ExitCode> => {
  if (word !== 'backup') throw new WrongUse(`'${word}' is unknown here: did you mean 'backup'?`);
  if (file === '') throw new WrongUse('Name the new file: recourse store backup FILE.');
  const choice = parseStore(variables['STORE'] ?? '');
  if (choice?.kind !== 'sqlite')
    throw new WrongUse('STORE must name the file of SQLite, as the service has it: sqlite:PATH.');
  const to = resolve(file);
  const answer = (await askForCopy(choice.path, to)) ?? (await copyHere(choice, to));
  if (answer !== 'done') throw new CommandFailed(`No copy was made: ${toPlainText(answer)}`);
  write(`${toPlainText(to)}\n`);
  return 0;
};

const copyHere = async (
  choice: { readonly path: string; readonly durable: 'process' | 'power' },
  to: string,
): Promise<string> => {
  try {
    const { copySqlite } = await withoutSqliteWarning(() => import('@recourse/store-sqlite/sqlite-file'));
    copySqlite(choice, to);
    return 'done';
  } catch (error) {
    return readMessage(error);
  }
};
