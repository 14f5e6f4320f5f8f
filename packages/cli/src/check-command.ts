import { isAbsolute, join, relative, resolve } from 'node:path';
import type { LoadProblem } from '@recourse/tool-hosts/directory/load-problem';
import type { FileGroup } from '@recourse/tool-hosts/hosted-files';
import { type CliContext, type ExitCode, toPlainLines, toPlainText } from 'recourse-server/cli/terminal';
import { readFirstConfigFile } from 'recourse-server/config/file/read-config-file';
import { readExtensions } from 'recourse-server/config/read-configuration';
import { loadConfig } from 'recourse-server/config/settings/config';
import { checkTools } from 'recourse-server/wiring/wire-tools';
import { createPaint, escapeForTerminal, formatCount, type Paint, readMessage, WrongUse } from './command-output.ts';

/** Each as it was written on the command line. */
export type CheckWords = { readonly directory: string; readonly json?: boolean; readonly envFile?: string };

/**
 * Loads the tools of a directory as the service does, and shows each problem with its place. 1 where a tool does not load, or a part
 * of it cannot work. Mistakes of settings and of the configuration file, also where it does not fit these tools, are a wrong use.
 */
export const runCheck = async (words: CheckWords, { terminal, loadEnvironment }: CliContext): Promise<ExitCode> => {
  const { directory } = words;
  const { variables, mistake } = loadEnvironment(words.envFile);
  const environment = { ...variables, TOOLS_DIR: directory };
  const { extensions, mistakes: inExtensions } = await readExtensions(environment);
  const loaded = loadConfig(environment, extensions);
  const inSettings = 'mistakes' in loaded ? loaded.mistakes : [];
  const { file, mistakes: inFile } = await readFirstConfigFile(loaded.config, environment);
  refuseMistakes([
    ...(mistake === null ? [] : [mistake]),
    ...inExtensions,
    ...inSettings,
    ...(inExtensions.length > 0 ? [] : inFile),
  ]);
  const { tools, problems, processes, misfits } = await checkTools(
    directory,
    loaded.config,
    variables,
    file?.content,
  ).catch((error: unknown) => {
    throw new WrongUse(readMessage(error).replace(/^TOOLS_DIR /, ''));
  });
  refuseMistakes(misfits.map((misfit) => `CONFIG_FILE ${file?.path}: ${misfit}`));
  const ok = problems.every(({ level }) => level === 'warning');
  const paint = createPaint(terminal.colors);
  const lines =
    words.json === true
      ? [escapeForTerminal(JSON.stringify({ ok, tools, problems, processes }, null, 2))]
      : [
          ...problems.map((problem) => formatLines(problem, directory, paint)),
          ...processes.flatMap(findShared),
          formatSummary(tools, problems, paint),
        ];
  for (const line of lines) terminal.write(`${line}\n`);
  return ok ? 0 : 1;
};

const refuseMistakes = (mistakes: readonly string[]): void => {
  if (mistakes.length > 0) throw new WrongUse(mistakes.join('\n'));
};

const formatLines = (problem: LoadProblem, directory: string, paint: Paint): string => {
  const { file, line, column, level, message, excerpt } = problem;
  const place = [toPlainText(formatPath(directory, file)), line, column].filter((part) => part !== null).join(':');
  const mark = level !== 'warning' ? '' : paint('yellow', 'warning: ');
  const shown = excerpt === null ? '' : `\n${toPlainLines(excerpt).replace(/^/gm, '  ')}\n`;
  return `${paint('bold', place)}: ${mark}${toPlainLines(message)}${shown}`;
};

/** Which files share processes. */
const findShared = ({ files, variables }: FileGroup): readonly string[] => {
  if (files.length === 1) return [];
  const shared = variables.length === 0 ? '' : `; variables that they share: ${variables.join(', ')}`;
  return [toPlainText(`${files.length} files share processes: ${files.join(', ')}${shared}`)];
};

const formatSummary = (tools: readonly string[], problems: readonly LoadProblem[], paint: Paint): string => {
  const errors = problems.filter(({ level }) => level !== 'warning').length;
  const warnings = problems.length - errors;
  const counts = [
    tools.length === 0 ? 'no tool loads' : `${formatCount(tools.length, 'tool')}: ${toPlainText(tools.join(', '))}`,
    errors === 0 ? 'no problems' : formatCount(errors, 'problem'),
    ...(warnings > 0 ? [formatCount(warnings, 'warning')] : []),
  ].join('; ');
  return paint(errors === 0 ? 'green' : 'red', counts);
};

/** A file of a directory as people open it: relative to the working directory where it lies below that. */
const formatPath = (directory: string, file: string): string => {
  const path = relative(process.cwd(), join(resolve(directory), file));
  return path.startsWith('..') || isAbsolute(path) ? join(directory, file) : path;
};
