import { type HostedTool, isSafe, type ToolFile } from 'recourse-server/tools/tool';
import type { LoadedFacts } from './directory/load-tool-file.ts';
import { type HostLoad, type LoadableFile, SourceSet, type ToolHost } from './tool-host.ts';

/**
 * A host and what it is doing. `starting` until its process is up; `busy` while it loads a file or a call has one of its
 * seats; else `idle`. Closed, it takes no further call.
 */
export type PoolMember = {
  readonly host: ToolHost;
  /** Which files it may run: see `toGroup`. */
  group: string;
  /** The only file that it may run; null where several may. */
  owner: HostedFile | null;
  phase: 'starting' | 'idle' | 'busy';
  /** Since when, in milliseconds of the pool's clock. */
  since: number;
  /** Since when something has gone on in it after calls; null where nothing does. */
  restlessSince: number | null;
  /** The file whose calls it runs, or ran last. */
  turn: HostedFile | null;
  readonly loaded: Set<HostedFile>;
  isLoading: boolean;
  /** Calls that it has been given and that have not ended. */
  seats: number;
  /** Its only call has no others beside it. */
  isAlone: boolean;
  /** Of the calls that it runs; null where they are of several. */
  company: string | null;
  /** Another file waits for it: it takes no more calls of this one. */
  isYielding: boolean;
  /**
   * `overdue`: a call in it did not end at its deadline. `silent`: it answers nothing. `left`: a call that it may still
   * run was given to another host.
   */
  closedFor: 'overdue' | 'silent' | 'left' | null;
  /** Versions that it holds and nobody calls any more. */
  deadVersions: number;
};

export const createMember = (host: ToolHost, group: string, owner: HostedFile | null, now: number): PoolMember => ({
  host,
  group,
  owner,
  phase: 'starting',
  since: now,
  restlessSince: null,
  turn: null,
  loaded: new Set(),
  isLoading: false,
  seats: 0,
  isAlone: false,
  company: null,
  isYielding: false,
  closedFor: null,
  deadVersions: 0,
});

/** How many of these match. Makes no list, for it is asked with each call. */
export const countWhere = <Item>(items: Iterable<Item>, matches: (item: Item) => boolean): number => {
  let count = 0;
  for (const item of items) if (matches(item)) count += 1;
  return count;
};

/** The best of these; of equals the first. null where there are none. */
const findBest = <Item>(items: Iterable<Item>, isBetter: (item: Item, best: Item) => boolean): Item | null => {
  let best: Item | null = null;
  for (const item of items) if (best === null || isBetter(item, best)) best = item;
  return best;
};

/** How many are about to end: each makes room for another. */
export const countEnding = (members: Iterable<PoolMember>): number => countWhere(members, ({ host }) => host.isEnding);

// So many calls run in one host before another one is sought; and so many where no other is to be had.
export const ROOMY_CALLS = 16;
const MOST_CALLS = 256;

/** Which calls may run beside a call. */
export type Seating = {
  /** None. */
  readonly isAlone: boolean;
  /** Calls of the same company: a write goes with those of its own tool, what is safe to repeat with all that is. */
  readonly company: string;
};

const SAFE_COMPANY = '';

export const toSeating = (tool: HostedTool, isAlone: boolean): Seating => ({
  isAlone,
  company: isSafe(tool) ? SAFE_COMPANY : tool.name,
});

/**
 * Whether this host, whose turn is the call's file, takes another call beside those it runs. `own`: only beside calls
 * of its company.
 */
export const takesAnother = (member: PoolMember, { isAlone, company }: Seating, beside: 'own' | 'any'): boolean => {
  const { host, closedFor, isYielding, isLoading, seats } = member;
  if (closedFor !== null || isYielding || isLoading || member.isAlone || member.phase === 'starting') return false;
  if (host.isEnding || host.isSpent) return false;
  if (seats === 0) return true;
  return !isAlone && seats < MOST_CALLS && (beside === 'any' || member.company === company);
};

/** How many of its calls have not begun: its event loop did not come to them. */
const countUnbegun = ({ host }: PoolMember): number => countWhere(host.calls, ({ began }) => !began);

/** Whether a call more is likely to begin at once. */
export const isPrompt = (member: PoolMember): boolean => member.seats < ROOMY_CALLS && countUnbegun(member) === 0;

/** Of hosts that take another call of their file the one that is likely to begin it first. */
export const findRoomiest = (
  members: Iterable<PoolMember>,
  seating: Seating,
  beside: 'own' | 'any',
): PoolMember | null => {
  let best: PoolMember | null = null;
  let bestLoad = Number.POSITIVE_INFINITY;
  for (const member of members) {
    if (!takesAnother(member, seating, beside)) continue;
    const load = countUnbegun(member) * MOST_CALLS + member.seats;
    if (load < bestLoad) [best, bestLoad] = [member, load];
  }
  return best;
};

/** It has no calls, or will be free of what it does before it has any. */
export const isSpare = ({ phase, isLoading }: PoolMember): boolean => phase !== 'busy' || isLoading;

/** Idle hosts of a group that may run another file than the last one. */
export const listIdle = (members: Iterable<PoolMember>, group: string): readonly PoolMember[] => {
  const idle: PoolMember[] = [];
  for (const member of members) if (member.group === group && isFree(member)) idle.push(member);
  return idle;
};

const isFree = ({ phase, host, closedFor }: PoolMember): boolean =>
  phase === 'idle' && closedFor === null && host.unrest === null && !host.isEnding && !host.isSpent;

/** The one that has the file already, else the one that was busy last: its successors may end. */
export const chooseIdle = (idle: readonly PoolMember[], file: HostedFile): PoolMember | null =>
  findBest(idle, (member, best) => {
    const [has, bestHas] = [member.loaded.has(file), best.loaded.has(file)];
    return has === bestHas ? member.since > best.since : has;
  });

/** The idle host that is missed least by the hosts' other users: one of a single file before one of many, the oldest first. */
export const chooseVictim = (members: Iterable<PoolMember>): PoolMember | null => {
  const idle = [...members].filter(({ phase, host }) => phase === 'idle' && !host.isEnding);
  return findBest(idle, (member, victim) => {
    const [isOwn, victimIsOwn] = [member.owner !== null, victim.owner !== null];
    return isOwn === victimIsOwn ? member.since < victim.since : isOwn;
  });
};

/** It is this file's turn, in a host that is free. */
export const enterTurn = (member: PoolMember, hosted: HostedFile, now: number): void => {
  if (member.phase !== 'busy') member.since = now;
  member.phase = 'busy';
  setTurn(member, hosted);
};

const setTurn = (member: PoolMember, hosted: HostedFile | null): void => {
  if (member.turn === hosted) return;
  member.turn?.members.delete(member);
  member.turn = hosted;
  hosted?.members.add(member);
};

/** Takes a seat for a call of this file. */
export const sit = (member: PoolMember, hosted: HostedFile, seating: Seating, now: number): PoolMember => {
  enterTurn(member, hosted, now);
  if (member.seats === 0) member.company = seating.company;
  else if (member.company !== seating.company) member.company = null;
  member.seats += 1;
  member.isAlone = seating.isAlone;
  return member;
};

/** No call of this version will come to this host any more. */
export const dropVersion = (member: PoolMember, hosted: HostedFile): void => {
  if (member.loaded.delete(hosted)) {
    member.host.unload(hosted);
    member.deadVersions += 1;
  }
  if (member.turn === hosted) setTurn(member, null);
};

/** Ends a host where every call that it still runs is over its time; opens it again where none is. */
export const settleOverdue = (member: PoolMember): void => {
  const { calls } = member.host;
  const overdue = countWhere(calls, ({ isOverdue }) => isOverdue);
  if (overdue === 0) member.closedFor = null;
  else if (overdue === calls.size) member.host.kill('timeout');
};

/** Where something of another file goes on in a host, that file's turn has not ended: it refused the calls of this one. */
export const returnTurn = (member: PoolMember): void => {
  const version = member.host.unrest?.version;
  if (version === undefined || member.turn?.version === version) return;
  setTurn(member, [...member.loaded].find((hosted) => hosted.version === version) ?? null);
};

/** Why a call gets no host where the system gives no process: the service's fault, not the file's. */
export const NO_PROCESS = 'no process could be started for it';

/** A call that waits for a host. Exactly one of the two is called. */
export type HostWaiter = Seating & {
  readonly take: (member: PoolMember) => void;
  /** `retryAfterMs`: when its process is started again; 0 = with the next call. */
  readonly fail: (reason: string, retryAfterMs: number) => void;
};

const FREE_TROUBLES = 5;
const FIRST_DELAY_MS = 100;
const LONGEST_DELAY_MS = 30_000;
// Long enough for somebody to look at it, short enough that nobody has to.
const PROBATION_MS = 600_000;

/** One version of a tool file: what its hosts need, who waits for one, and how it behaved. */
export class HostedFile implements LoadableFile {
  readonly file: ToolFile;
  readonly version: string;
  /** All of the directory until it has been loaded, then what it imported. */
  sources: SourceSet;
  /** Variables its tools ask for and are granted: those that it is likely to ask for, until its first load tells. */
  granted: readonly string[];
  /** By choice: the file, or the operator, asks for processes of its own. */
  isOwn = false;
  /** By conduct: it has processes of its own until then. */
  #ownUntil = 0;
  /** Tools that blocked their host beside others, until when they run alone. */
  readonly #aloneUntil = new Map<string, number>();
  /** Hosts whose turn is this file's. */
  readonly members = new Set<PoolMember>();
  /** Whether a call of this version has ended a process, or blocked one: what may not be repeated keeps away from the others. */
  isDangerous = false;
  readonly waiting = new Set<HostWaiter>();
  /** Since when somebody waits. */
  waitingSince = 0;
  /** Whether a process has loaded it, so that others may be started without a call. */
  isLoaded = false;
  retired = false;
  /** Deaths and failed starts in a row, without an answer in between. */
  #troubles = 0;
  /** No host starts for it before this moment. */
  restartAt = 0;

  constructor(file: ToolFile, version: string, sources: SourceSet, granted: readonly string[]) {
    this.file = file;
    this.version = version;
    this.sources = sources;
    this.granted = granted;
  }

  /** What the first load has taught: later hosts are sent no more of the directory than the file imports. */
  learn(loaded: Extract<HostLoad, { kind: 'loaded' }>, isGranted: (name: string) => boolean): void {
    const imported = new Set(loaded.imported);
    const entries = this.sources.entries.filter(([path]) => imported.has(path));
    this.sources = new SourceSet(`of ${this.version}`, entries);
    this.isLoaded = true;
    this.granted = toGranted(loaded.tools, isGranted);
    this.isOwn ||= loaded.trace !== null || loaded.tools.some(({ isolation, holds }) => isolation === 'own' || holds);
  }

  /** A call was answered: what went wrong before is over. */
  noteAnswer(): void {
    this.#troubles = 0;
    this.restartAt = 0;
  }

  /** Notes a death or a failed start. Five in a row cost nothing; from then on each doubles the time until the next start. */
  noteTrouble(now: number): void {
    this.#troubles += 1;
    const doublings = this.#troubles - FREE_TROUBLES - 1;
    if (doublings < 0) return;
    this.restartAt = now + Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(doublings, 20));
  }

  /** From now on the file has processes of its own, until it has behaved for ten minutes. */
  noteOffence(now: number): void {
    this.#ownUntil = now + PROBATION_MS;
  }

  /** From now on calls of this tool have no other beside them, until it has not blocked its host for ten minutes. */
  noteBlock(tool: string, now: number): void {
    this.#aloneUntil.set(tool, now + PROBATION_MS);
  }

  runsAlone(tool: string, now: number): boolean {
    return (this.#aloneUntil.get(tool) ?? 0) > now;
  }

  /** Whether no other file may run in its hosts, by choice or by conduct. */
  hasOwnHosts(now: number): boolean {
    return this.isOwn || this.#ownUntil > now;
  }

  /** Which hosts may run it: those of files that were granted the same variables, or its own. */
  toGroup(now: number): string {
    return this.hasOwnHosts(now) ? `own ${this.version}` : `shared ${this.granted.join(' ')}`;
  }

  /** How many of the calls that wait for this file must run alone. */
  countAlone(): number {
    return countWhere(this.waiting, ({ isAlone }) => isAlone);
  }

  /** Beside which calls its calls may run. */
  get beside(): 'own' | 'any' {
    return this.isDangerous ? 'own' : 'any';
  }

  /** How many hosts the calls that wait need beside those that must run alone. */
  #countCompanies(): number {
    const companies = new Set<string>();
    for (const { isAlone, company } of this.waiting) if (!isAlone) companies.add(company);
    return this.isDangerous ? companies.size : Math.min(1, companies.size);
  }

  countLoading(): number {
    return countWhere(this.members, ({ isLoading }) => isLoading);
  }

  /** How many more hosts the calls that wait for this file could use than are loading it. */
  countMissing(): number {
    return Math.max(0, this.countAlone() + this.#countCompanies() - this.countLoading());
  }
}

/** The variables that tools ask for and get, sorted. */
export const toGranted = (tools: readonly LoadedFacts[], isGranted: (name: string) => boolean): readonly string[] =>
  [...new Set(tools.flatMap(({ env }) => env.filter(isGranted)))].sort();
