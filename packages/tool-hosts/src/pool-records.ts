import { type HostedTool, isSafe, type ToolFile } from 'recourse-server/tools/tool';
import type { LoadedFacts } from './directory/load-tool-file.ts';
import type { ToolHost } from './hosted-process.ts';
import { type HostLoad, type LoadableFile, SourceSet } from './tool-host.ts';

/**
 * What a host does. Only `serving` takes calls beside those that it runs, and only of the file that it is assigned to.
 *
 * | state    | what happens                                                  | next                                      |
 * |----------|---------------------------------------------------------------|-------------------------------------------|
 * | starting | its process comes up                                          | idle, reading                             |
 * | reading  | the discovery loads files in it                               | idle                                      |
 * | idle     | it has no calls                                               | loading, serving, ended                   |
 * | loading  | it loads the file that it is assigned to                      | serving, idle, ended                      |
 * | serving  | it runs calls                                                 | idle, draining, overdue, silent, left     |
 * | draining | it runs calls; another file waits, or it has had `maxCalls`   | idle, serving where nothing waits any more |
 * | overdue  | a call in it did not end at its deadline                      | serving, ended, left                      |
 * | silent   | its event loop does not answer                                | serving, ended, left                      |
 * | left     | a call that it may still run was given to another host        | ended once its calls have ended           |
 */
type HostState = 'starting' | 'reading' | 'idle' | 'loading' | 'serving' | 'draining' | 'overdue' | 'silent' | 'left';

/** How many of these match. Makes no list, for it is asked with each call. */
export const countWhere = <Item>(items: Iterable<Item>, matches: (item: Item) => boolean): number => {
  let count = 0;
  for (const item of items) if (matches(item)) count += 1;
  return count;
};

/** The best of these; of equals the first. null where there are none. */
export const findBest = <Item>(items: Iterable<Item>, isBetter: (item: Item, best: Item) => boolean): Item | null => {
  let best: Item | null = null;
  for (const item of items) if (best === null || isBetter(item, best)) best = item;
  return best;
};

// So many calls run in one host before another one is sought; and so many where no other is to be had.
export const ROOMY_CALLS = 16;
const MOST_CALLS = 256;

/** What a call needs of a host: which other calls may run beside it. */
export type SlotRequest = {
  /** None. */
  readonly isAlone: boolean;
  /** Calls of the same company: a write goes with those of its own tool, what is safe to repeat with all that is. */
  readonly company: string;
};

export const createSlotRequest = (tool: HostedTool, isAlone: boolean): SlotRequest => ({
  isAlone,
  company: isSafe(tool) ? '' : tool.name,
});

/** A call that waits for a host. Exactly one of the two is called. */
export type HostWaiter = SlotRequest & {
  readonly take: (member: PoolMember) => void;
  /** `retryAfterMs`: when its process is started again; 0 = with the next call. */
  readonly fail: (reason: string, retryAfterMs: number) => void;
};

/** A host of the pool: what it does, for which file, and how many calls it runs. */
export class PoolMember {
  readonly host: ToolHost;
  /** Which files it may run: see `HostedFile.groupAt`. */
  group: string;
  /** The only file that it may run; null where several may. */
  owner: HostedFile | null;
  state: HostState = 'starting';
  /** Since when it is idle or not, in milliseconds of the pool's clock. */
  since: number;
  /** Since when something has gone on in it after its calls; null where nothing does. */
  pendingSince: number | null = null;
  /** The file whose calls it runs, or ran last. */
  assigned: HostedFile | null = null;
  readonly loaded = new Set<HostedFile>();
  /** Calls that it was given and that have not ended. */
  slots = 0;
  /** Its only call has no others beside it. */
  isAlone = false;
  /** Of the calls that it runs; null where they are of several companies. */
  company: string | null = null;
  /** Versions that it holds and that no call uses any more. */
  deadVersions = 0;

  constructor(host: ToolHost, file: HostedFile, now: number) {
    this.host = host;
    this.group = file.groupAt(now);
    this.owner = file.hasOwnHosts(now) ? file : null;
    this.since = now;
  }

  /** What the metrics call its state. */
  get phase(): 'starting' | 'idle' | 'busy' {
    return this.state === 'starting' || this.state === 'idle' ? this.state : 'busy';
  }

  /** Idle, and nothing keeps another file from running here. */
  get isFree(): boolean {
    const { host } = this;
    return this.state === 'idle' && host.pendingWork === null && !host.isEnding && !host.isUnusable;
  }

  /** It has no calls, or will have done what it does before it has any. */
  get isSpare(): boolean {
    return this.phase !== 'busy' || this.state === 'loading' || this.state === 'reading';
  }

  /** How many of its calls have not begun: its event loop did not come to them. */
  get unbegun(): number {
    return countWhere(this.host.calls, ({ began }) => !began);
  }

  /** Whether one more call is likely to begin at once. */
  get isPrompt(): boolean {
    return this.slots < ROOMY_CALLS && this.unbegun === 0;
  }

  /** Whether it takes another call of its file. `own`: only beside calls of its company. */
  accepts({ isAlone, company }: SlotRequest, beside: 'own' | 'any'): boolean {
    if ((this.state !== 'serving' && this.state !== 'idle') || this.isAlone) return false;
    if (this.host.isEnding || this.host.isUnusable) return false;
    if (this.slots === 0) return true;
    return !isAlone && this.slots < MOST_CALLS && (beside === 'any' || this.company === company);
  }

  /** Gives a call of this file a slot. */
  occupy(file: HostedFile, { isAlone, company }: SlotRequest, now: number): this {
    this.enter('serving', file, now);
    if (this.slots === 0) this.company = company;
    else if (this.company !== company) this.company = null;
    this.slots += 1;
    this.isAlone = isAlone;
    return this;
  }

  enter(state: 'loading' | 'serving', file: HostedFile, now: number): void {
    if (this.state === 'idle') this.since = now;
    this.state = state;
    this.assign(file);
  }

  assign(file: HostedFile | null): void {
    if (this.assigned === file) return;
    this.assigned?.members.delete(this);
    this.assigned = file;
    file?.members.add(this);
  }

  /** No call of this version will come to this host any more. */
  unload(file: HostedFile): void {
    if (this.loaded.delete(file)) {
      this.host.unload(file);
      this.deadVersions += 1;
    }
    if (this.assigned === file) this.assign(null);
  }

  /** Something of another file goes on in this host and refused the calls of its file: it is assigned to that file again. */
  reassign(): void {
    const version = this.host.pendingWork?.version;
    if (version === undefined || this.assigned?.version === version) return;
    this.assign([...this.loaded].find((file) => file.version === version) ?? null);
  }

  /** Ends where every call that it still runs is over its time; serves again where none is. */
  endIfOverdue(): void {
    const overdue = countWhere(this.host.calls, ({ isOverdue }) => isOverdue);
    if (overdue > 0 && overdue === this.host.calls.size) this.host.kill('timeout');
    if (overdue === 0 && this.state === 'overdue') this.state = 'serving';
  }
}

/** Of hosts that take another call of their file the one that is likely to begin it first. */
export const findRoomiest = (
  members: Iterable<PoolMember>,
  request: SlotRequest,
  beside: 'own' | 'any',
): PoolMember | null => {
  let best: PoolMember | null = null;
  let bestLoad = Number.POSITIVE_INFINITY;
  for (const member of members) {
    if (!member.accepts(request, beside)) continue;
    const load = member.unbegun * MOST_CALLS + member.slots;
    if (load < bestLoad) [best, bestLoad] = [member, load];
  }
  return best;
};

/** Why a call gets no host where the system gives no process: the service's fault, not the file's. */
export const NO_PROCESS = 'no process could be started for it';

const FREE_TROUBLES = 5;
const FIRST_DELAY_MS = 100;
const LONGEST_DELAY_MS = 30_000;
// Long enough for a person to look at it, short enough that none has to.
const PROBATION_MS = 600_000;

/** One version of a tool file: what its hosts need, which calls wait for one, and how it behaved. */
export class HostedFile implements LoadableFile {
  readonly file: ToolFile;
  readonly version: string;
  /** All of the directory until it has been loaded, then what it imported. */
  sources: SourceSet;
  /** Variables its tools ask for and are granted: those that it is likely to ask for, until its first load. */
  granted: readonly string[];
  /** By choice: the file, or the operator, asks for processes of its own. */
  isOwn = false;
  /** By conduct: it has processes of its own until then. */
  #ownUntil = 0;
  /** Tools that blocked their host beside others, until when they run alone. */
  readonly #aloneUntil = new Map<string, number>();
  /** Hosts that are assigned to it. */
  readonly members = new Set<PoolMember>();
  /** Whether a call of this version has ended a process, or blocked one: what may not be repeated keeps away from the others. */
  isDangerous = false;
  readonly waiting = new Set<HostWaiter>();
  /** Since when a call waits. */
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
    this.granted = listGranted(loaded.tools, isGranted);
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
  groupAt(now: number): string {
    return this.hasOwnHosts(now) ? `own ${this.version}` : `shared ${this.granted.join(' ')}`;
  }

  get isLoading(): boolean {
    for (const { state } of this.members) if (state === 'loading') return true;
    return false;
  }

  /** Whether a call that must run alone waits. */
  get hasAlone(): boolean {
    for (const { isAlone } of this.waiting) if (isAlone) return true;
    return false;
  }

  /** How many more hosts the calls that wait for this file could use than are loading it. */
  countMissing(): number {
    let alone = 0;
    const companies = new Set<string>();
    for (const { isAlone, company } of this.waiting) {
      if (isAlone) alone += 1;
      else companies.add(this.isDangerous ? company : '');
    }
    const loading = countWhere(this.members, ({ state }) => state === 'loading');
    return Math.max(0, alone + companies.size - loading);
  }
}

/** The variables that tools ask for and get, sorted. */
export const listGranted = (tools: readonly LoadedFacts[], isGranted: (name: string) => boolean): readonly string[] =>
  [...new Set(tools.flatMap(({ env }) => env.filter(isGranted)))].sort();
