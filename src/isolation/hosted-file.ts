import type { ToolFile } from '../tools/tool.ts';
import { createSourceSet, type HostLoad, type SourceSet } from './loadable-file.ts';
import type { HostedFile } from './pool-records.ts';

/** `granted`: the variables that it is likely to ask for; its first load tells. */
export const createHostedFile = (
  file: ToolFile,
  version: string,
  sources: SourceSet,
  granted: readonly string[] = [],
): HostedFile => ({
  file,
  version,
  sources,
  granted,
  isOwn: false,
  ownUntil: 0,
  aloneUntil: new Map(),
  members: new Set(),
  waiting: new Set(),
  waitingSince: 0,
  isLoaded: false,
  retired: false,
  troubles: 0,
  restartAt: 0,
});

/** What the first load has taught: later hosts are sent no more of the directory than the file imports. */
export const learnFrom = (
  hosted: HostedFile,
  loaded: Extract<HostLoad, { kind: 'loaded' }>,
  isGiven: (name: string) => boolean,
): void => {
  const imported = new Set(loaded.imported);
  const { entries } = hosted.sources;
  hosted.sources = createSourceSet(
    `of ${hosted.version}`,
    entries.filter(([path]) => imported.has(path)),
  );
  hosted.isLoaded = true;
  hosted.granted = [...new Set(loaded.tools.flatMap(({ env }) => env.filter(isGiven)))].sort();
  hosted.isOwn ||= loaded.trace !== null || loaded.tools.some(({ isolation, holds }) => isolation === 'own' || holds);
};

const FREE_TROUBLES = 5;
const FIRST_DELAY_MS = 100;
const LONGEST_DELAY_MS = 30_000;

/** Notes a death or a failed start. Five in a row cost nothing; from then on each doubles the time until the next start. */
export const noteTrouble = (hosted: HostedFile, now: number): void => {
  hosted.troubles += 1;
  const doublings = hosted.troubles - FREE_TROUBLES - 1;
  if (doublings < 0) return;
  hosted.restartAt = now + Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(doublings, 20));
};

// Long enough for somebody to look at it, short enough that nobody has to.
const PROBATION_MS = 600_000;

/** From now on the file has processes of its own, until it has behaved for ten minutes. */
export const noteOffence = (hosted: HostedFile, now: number): void => {
  hosted.ownUntil = now + PROBATION_MS;
};

/** From now on calls of this tool have no other beside them, until it has not blocked its host for ten minutes. */
export const noteBlock = (hosted: HostedFile, tool: string, now: number): void => {
  hosted.aloneUntil.set(tool, now + PROBATION_MS);
};

export const runsAlone = (hosted: HostedFile, tool: string, now: number): boolean => {
  const until = hosted.aloneUntil.get(tool) ?? 0;
  return until > now;
};

/** Whether no other file may run in its hosts, by choice or by conduct. */
export const hasOwnHosts = ({ isOwn, ownUntil }: HostedFile, now: number): boolean => isOwn || ownUntil > now;

/** Which hosts may run it: those of files that were granted the same variables, or its own. */
export const toGroup = (hosted: HostedFile, now: number): string =>
  hasOwnHosts(hosted, now) ? `own ${hosted.version}` : `shared ${hosted.granted.join(' ')}`;
