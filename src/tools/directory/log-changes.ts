import type { Tool } from '../tool.ts';
import type { UnavailableTool } from '../tool-offer.ts';
import type { FileStates } from './file-versions.ts';
import type { Settled } from './settle-names.ts';

export type DirectoryLog = {
  readonly [level in 'info' | 'warn']: (fields: Readonly<Record<string, unknown>>, message: string) => void;
};

/** What a directory holds at one moment. */
export type DirectoryMoment = { readonly states: FileStates; readonly settled: Settled };

/** One line for every file that cannot be loaded and every tool or reducer that does not serve, once; and one for what does. */
export const logChanges = (before: DirectoryMoment, now: DirectoryMoment, log: DirectoryLog): void => {
  for (const [file, { failure, good }] of now.states) {
    if (failure === null || failure === before.states.get(file)?.failure) continue;
    const serves = good === null ? 'nothing of it' : 'the version before';
    log.warn({ file, reason: failure, serves }, 'tool file cannot be loaded');
  }
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

const toKey = ({ facts, reason }: UnavailableTool): string => `${facts.source} ${facts.role} ${reason}`;

const namesOf = (tools: readonly Tool[], role: Tool['role']): readonly string[] =>
  tools
    .filter((tool) => tool.role === role)
    .map(({ name }) => name)
    .sort();
