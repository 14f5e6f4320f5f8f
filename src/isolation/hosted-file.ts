import type { ToolFile } from '../tools/tool.ts';
import type { PoolMember } from './pool-member.ts';
import type { HostLoad } from './start-loading.ts';

/** A call that waits for a host. Exactly one of the two is called. */
export type HostWaiter = {
  /** Whether no other call may run beside it. */
  readonly isAlone: boolean;
  readonly take: (member: PoolMember) => void;
  /** `retryAfterMs`: when its process is started again; 0 = with the next call. */
  readonly fail: (reason: string, retryAfterMs: number) => void;
};

/** Texts of a directory under a name: a host is sent them once. */
export type SourceSet = {
  readonly name: string;
  readonly entries: readonly (readonly [path: string, text: string])[];
  readonly toText: () => string;
};

/** One version of a tool file: what its hosts need, who waits for one, and how it behaved. */
export type HostedFile = {
  readonly file: ToolFile;
  /** Its name in messages to hosts. */
  readonly version: string;
  /** All of the directory until it has been loaded, then what it imported. */
  sources: SourceSet;
  /** Variables its tools ask for and are granted. */
  granted: readonly string[];
  /** By choice: the file, or the operator, asks for processes of its own. */
  isOwn: boolean;
  /** By conduct: it has processes of its own until then. */
  ownUntil: number;
  /** Tools that blocked their host beside others, until when they run alone. */
  readonly aloneUntil: Map<string, number>;
  /** Hosts whose turn is this file's. */
  readonly members: Set<PoolMember>;
  readonly waiting: Set<HostWaiter>;
  /** Since when somebody waits. */
  waitingSince: number;
  /** Whether a process has loaded it, so that others may be started without a call. */
  isLoaded: boolean;
  retired: boolean;
  /** Deaths and failed starts in a row, without an answer in between. */
  troubles: number;
  /** No host starts for it before this moment. */
  restartAt: number;
};

export const createHostedFile = (file: ToolFile, version: string, sources: SourceSet): HostedFile => ({
  file,
  version,
  sources,
  granted: [],
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

export const createSourceSet = (name: string, entries: SourceSet['entries']): SourceSet => {
  let text: string | null = null;
  return {
    name,
    entries,
    toText: () => {
      text ??= JSON.stringify(entries);
      return text;
    },
  };
};

/** What the first load has taught: later hosts are sent no more of the directory than the file imports. */
export const learnFrom = (
  hosted: HostedFile,
  loaded: Extract<HostLoad, { kind: 'loaded' }>,
  isAllowed: (name: string) => boolean,
): void => {
  const imported = new Set(loaded.imported);
  const { entries } = hosted.sources;
  hosted.sources = createSourceSet(
    `of ${hosted.version}`,
    entries.filter(([path]) => imported.has(path)),
  );
  hosted.isLoaded = true;
  hosted.granted = [...new Set(loaded.tools.flatMap(({ env }) => env.filter(isAllowed)))].sort();
  hosted.isOwn ||= loaded.trace !== null || loaded.tools.some(({ isolation }) => isolation === 'own');
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
