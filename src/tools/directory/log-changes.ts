import type { Tool } from '../tool.ts';
import type { UnavailableTool } from '../tool-offer.ts';
import type { FileState, FileStates } from './file-versions.ts';
import { type LoadProblem, toProblemLine, toProblemText } from './load-problem.ts';
import type { Settled } from './settle-names.ts';

export type DirectoryLog = {
  readonly [level in 'info' | 'warn']: (fields: Readonly<Record<string, unknown>>, message: string) => void;
};

/** What a directory holds at one moment. */
export type DirectoryMoment = { readonly states: FileStates; readonly settled: Settled };

/** One line for every file that cannot be loaded and every tool or reducer that does not serve, once; and one for what does. */
export const logChanges = (before: DirectoryMoment, now: DirectoryMoment, log: DirectoryLog): void => {
  for (const [file, state] of now.states) logFile(file, before.states.get(file), state, log);
  const known = new Set(before.settled.refused.map(toKey));
  for (const refused of now.settled.refused.filter((candidate) => !known.has(toKey(candidate)))) {
    const { facts, reason } = refused;
    const { role, name, source } = facts;
    if (role === 'tool') log.warn({ tool: name, source, reason }, 'tool is unavailable');
    else log.warn({ reducer: name, source, reason }, 'reducer is unavailable');
  }
  const { tools, unavailable } = now.settled.offer;
  log.info(
    {
      tools: namesOf(tools, 'tool'),
      reducers: namesOf(tools, 'reducer'),
      unavailable: unavailable.map(({ facts }) => facts.name).sort(),
    },
    'tools directory loaded',
  );
};

const logFile = (
  file: string,
  before: FileState | undefined,
  { failure, good, problems }: FileState,
  log: DirectoryLog,
): void => {
  const isNew = (problem: LoadProblem): boolean =>
    ![before?.failure ?? null, ...(before?.problems ?? [])].some((known) => isSame(problem, known));
  if (failure !== null && isNew(failure)) {
    const serves = good === null ? 'nothing of it' : 'the version before';
    log.warn({ file, reason: toProblemLine(failure), ...toFields(failure), serves }, 'tool file cannot be loaded');
  }
  for (const problem of problems.filter(isNew))
    log.warn({ file, reason: toProblemLine(problem), ...toFields(problem) }, 'tool file has a problem');
};

const isSame = (problem: LoadProblem, other: LoadProblem | null): boolean =>
  other !== null && toProblemText(problem) === toProblemText(other);

/** What is known of where and what, for those who search a log. */
const toFields = ({ line, column, tool, member, excerpt }: LoadProblem): Readonly<Record<string, unknown>> => {
  const fields = Object.entries({ line, column, tool, member, excerpt });
  return Object.fromEntries(fields.filter(([, value]) => value !== null));
};

const toKey = ({ facts, reason }: UnavailableTool): string => `${facts.source} ${facts.role} ${reason}`;

const namesOf = (tools: readonly Tool[], role: Tool['role']): readonly string[] =>
  tools
    .filter((tool) => tool.role === role)
    .map(({ name }) => name)
    .sort();
