import { loadConfig } from '../../settings/config.ts';
import type { LoadProblem } from '../../tools/directory/load-problem.ts';
import { checkTools } from '../../wiring/check-tools.ts';
import type { CliContext, CommandEnd } from '../terminal/cli-context.ts';
import { createPaint, type Paint } from '../terminal/paint.ts';
import { escapeForTerminal, toPlainLines } from '../terminal/plain-text.ts';
import { toShownPath } from '../terminal/shown-path.ts';

/** Each as it was written on the command line. */
export type CheckWords = { readonly directory: string; readonly json?: boolean; readonly envFile?: string };

/** Loads the tools of a directory as the service does, and shows each problem with its place. 1 where a tool does not load. */
export const runCheck = async (words: CheckWords, context: CliContext): Promise<CommandEnd> => {
  const { terminal } = context;
  const { variables, mistake } = context.loadEnvironment(words.envFile);
  const loaded = loadConfig({ ...variables, TOOLS_DIR: words.directory });
  const mistakes = [...(mistake === null ? [] : [mistake]), ...('mistakes' in loaded ? loaded.mistakes : [])];
  if (mistakes.length > 0) return { wrong: mistakes.join('\n') };
  const checked = await checkTools(words.directory, loaded.config, variables).catch(toText);
  if (typeof checked === 'string') return { wrong: checked.replace(/^TOOLS_DIR /, '') };
  const { tools, problems } = checked;
  const ok = problems.every(({ level }) => level === 'warning');
  if (words.json === true) {
    terminal.write(`${escapeForTerminal(JSON.stringify({ ok, tools, problems }, null, 2))}\n`);
    return ok ? 0 : 1;
  }
  const paint = createPaint(terminal.colors);
  for (const problem of problems) terminal.write(`${toLines(problem, words.directory, paint)}\n`);
  terminal.write(`${toSummary(tools, problems, paint)}\n`);
  return ok ? 0 : 1;
};

const toText = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const toLines = (problem: LoadProblem, directory: string, paint: Paint): string => {
  const { file, line, column, level, message, excerpt } = problem;
  const place = [toShownPath(directory, file), line, column].filter((part) => part !== null).join(':');
  const mark = level === 'error' ? '' : paint('yellow', 'warning: ');
  const shown = excerpt === null ? '' : `\n${toPlainLines(excerpt).replace(/^/gm, '  ')}\n`;
  return `${paint('bold', place)}: ${mark}${toPlainLines(message)}${shown}`;
};

const toSummary = (tools: readonly string[], problems: readonly LoadProblem[], paint: Paint): string => {
  const errors = problems.filter(({ level }) => level === 'error').length;
  const warnings = problems.length - errors;
  const counts = [
    tools.length === 0 ? 'no tool loads' : `${toCount(tools.length, 'tool')}: ${tools.join(', ')}`,
    errors === 0 ? 'no problems' : toCount(errors, 'problem'),
    ...(warnings > 0 ? [toCount(warnings, 'warning')] : []),
  ].join('; ');
  return paint(errors === 0 ? 'green' : 'red', counts);
};

const toCount = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;
