import type { FileStates } from './file-versions.ts';
import type { Settled } from './settle-names.ts';

export type DirectoryLog = {
  readonly [level in 'info' | 'warn']: (fields: Readonly<Record<string, unknown>>, message: string) => void;
};

/** What a directory holds at one moment. */
export type DirectoryMoment = { readonly states: FileStates; readonly settled: Settled };

/** One line for every file that cannot be loaded and every tool without its name, once; and one for what serves now. */
export const logChanges = (before: DirectoryMoment, now: DirectoryMoment, log: DirectoryLog): void => {
  for (const [file, { failure, good }] of now.states) {
    if (failure === null || failure === before.states.get(file)?.failure) continue;
    const serves = good === null ? 'nothing of it' : 'the version before';
    log.warn({ file, reason: failure, serves }, 'tool file cannot be loaded');
  }
  const known = new Set(before.settled.clashes.map(({ facts, reason }) => `${facts.source} ${reason}`));
  for (const { facts, reason } of now.settled.clashes) {
    if (known.has(`${facts.source} ${reason}`)) continue;
    log.warn({ tool: facts.name, source: facts.source, reason }, 'tool is unavailable');
  }
  const { tools, unavailable } = now.settled.offer;
  log.info(
    { tools: tools.map(({ name }) => name).sort(), unavailable: unavailable.map(({ facts }) => facts.name).sort() },
    'tools directory loaded',
  );
};
