import { FileQueue } from './file-queue.ts';
import type { HostStock } from './host-stock.ts';
import { noteTrouble, toGroup } from './hosted-file.ts';
import type { HostLoad } from './loadable-file.ts';
import {
  chooseIdle,
  countEnding,
  countLoading,
  countMissing,
  dropVersion,
  enterTurn,
  findRoomiest,
  isPrompt,
  listIdle,
  ROOMY_CALLS,
  returnTurn,
  sit,
  takesAnother,
} from './pool-member.ts';
import type { HostedFile, HostWaiter, PoolMember } from './pool-records.ts';
import { askToYield, takeBackYields } from './yields.ts';

export type TurnsOptions = {
  readonly stock: HostStock;
  /** Calls after which a host is replaced. */
  readonly maxCalls: number;
  readonly now: () => number;
  /** What came of loading a file for its calls. */
  readonly onLoaded: (member: PoolMember, hosted: HostedFile, load: HostLoad) => void;
};

// The code of versions that are gone stays in a process until it ends.
const MOST_DEAD_VERSIONS = 50;
// One that has been loaded before may take its time: where it does, the machine is busy, and giving up would only begin
// it all again.
const LOAD_AGAIN_MS = 10_000;
// About what it takes to start a process.
const LONG_MS = 100;
// A process that makes way takes with it what its files took to load: after one second it halved what a full pool answers.
const VERY_LONG_MS = 5000;

/**
 * Whose turn it is in which host. A host runs calls of one file; when all of these have ended and nothing of them goes
 * on, it is the turn of the file whose calls have waited longest. A file that never pauses yields where others wait.
 */
export class Turns {
  readonly #queue = new FileQueue();
  readonly #options: TurnsOptions;

  constructor(options: TurnsOptions) {
    this.#options = options;
  }

  /** A seat in a host that has loaded the file; null where the call must wait for one. */
  takeSeat(hosted: HostedFile, isAlone: boolean): PoolMember | null {
    return hosted.waiting.size > 0 ? null : this.#findSeat(hosted, isAlone);
  }

  #findSeat(hosted: HostedFile, isAlone: boolean): PoolMember | null {
    const { stock } = this.#options;
    const group = this.#groupOf(hosted);
    const roomy = findRoomiest(hosted.members, isAlone);
    if (roomy !== null && isPrompt(roomy)) return sit(roomy, hosted, isAlone, this.#options.now());
    const idle = listIdle(stock.members, group);
    // The last one is left to the next file, where this one has room in another already.
    const isCrowded = roomy === null || roomy.seats >= ROOMY_CALLS;
    const other = idle.length > (isCrowded ? 0 : 1) ? chooseIdle(idle, hosted) : null;
    if (other?.loaded.has(hosted)) return sit(other, hosted, isAlone, this.#options.now());
    if (isCrowded && roomy !== null) this.#widen(hosted, group, other);
    return roomy === null ? null : sit(roomy, hosted, isAlone, this.#options.now());
  }

  /** Seeks another host for a file whose hosts are full, while its calls go on crowding those. */
  #widen(hosted: HostedFile, group: string, idle: PoolMember | null): void {
    const { stock } = this.#options;
    if (countLoading(hosted) > 0) return;
    if (idle !== null) this.#beginLoad(idle, hosted);
    else if (stock.countStarting(group) === 0 && stock.hasRoom() && !stock.isAmple()) stock.start(hosted);
  }

  /** Hands over a seat as soon as there is one; gives the way to stop waiting. */
  wait(hosted: HostedFile, waiter: HostWaiter): () => void {
    this.#queue.add(hosted, waiter, this.#options.now());
    this.serve();
    return () => this.#queue.remove(hosted, waiter);
  }

  failWaiting(hosted: HostedFile, reason: string): void {
    for (const waiter of this.#queue.drain(hosted))
      waiter.fail(reason, Math.max(0, hosted.restartAt - this.#options.now()));
  }

  /** The files of a group whose calls wait. */
  waitingIn(group: string): readonly HostedFile[] {
    return this.#queue.list().filter((hosted) => this.#groupOf(hosted) === group);
  }

  /** What becomes of a host: further calls of its file, another file's turn, a pause, or its end. */
  settle(member: PoolMember): void {
    const { host } = member;
    if (host.isEnding() || member.phase === 'starting') return;
    if (member.seats > 0 || member.isLoading) {
      // Never without calls, it would never end.
      if (host.answered() >= this.#options.maxCalls) member.isYielding = true;
      if (member.turn !== null) this.#fill(member, member.turn);
    } else this.#release(member);
  }

  /** What becomes of a host without calls. */
  #release(member: PoolMember): void {
    returnTurn(member);
    const isLeft = member.closedFor === 'left';
    member.isAlone = false;
    member.isYielding = false;
    member.closedFor = null;
    const { turn } = member;
    if (turn?.retired && turn.waiting.size === 0) dropVersion(member, turn);
    const reason = isLeft ? 'recycle' : this.#findReasonToEnd(member);
    if (reason === null) this.#giveTurn(member);
    else member.host.kill(reason);
  }

  #findReasonToEnd(member: PoolMember): 'recycle' | 'surplus' | null {
    const { host, deadVersions } = member;
    const { maxCalls, stock } = this.#options;
    if (host.isSpent() || host.answered() >= maxCalls || deadVersions > MOST_DEAD_VERSIONS) return 'recycle';
    return stock.isClosing || this.#isAbandoned(member) || this.#isInTheWay(member) ? 'surplus' : null;
  }

  /** It was one file's own, and that has its place among others again, or is gone. */
  #isAbandoned({ owner, group }: PoolMember): boolean {
    if (owner === null) return false;
    return this.#groupOf(owner) !== group || (owner.retired && owner.waiting.size === 0);
  }

  /** Calls of another group have waited for long, and there is neither a host of theirs nor room for one. */
  #isInTheWay({ group }: PoolMember): boolean {
    const { stock, now } = this.#options;
    const isStarving = (hosted: HostedFile): boolean => {
      const other = this.#groupOf(hosted);
      const isDue = hosted.restartAt <= now() && now() - hosted.waitingSince >= VERY_LONG_MS;
      return isDue && other !== group && !stock.has(other);
    };
    return stock.isFull() && countEnding(stock.members) === 0 && this.#queue.list().some(isStarving);
  }

  #giveTurn(member: PoolMember): void {
    const next = this.#findNext(member);
    if (next === undefined) this.#beIdle(member);
    else if (member.loaded.has(next)) this.#fill(member, next);
    else this.#beginLoad(member, next);
  }

  #findNext(member: PoolMember): HostedFile | undefined {
    const { now } = this.#options;
    const isRestless = member.host.unrest() !== null;
    for (const hosted of this.#queue.list()) {
      if (hosted.restartAt > now() || this.#groupOf(hosted) !== member.group) continue;
      if (isRestless ? hosted === member.turn : hosted === member.turn || countMissing(hosted) > 0) return hosted;
    }
    return undefined;
  }

  #beIdle(member: PoolMember): void {
    member.phase = 'idle';
    member.since = this.#options.now();
    // Calls of other groups may have waited for somebody to make way.
    if (this.#queue.size > 0) this.serve();
  }

  /** As many of the calls that wait as have a seat in this host. */
  #fill(member: PoolMember, hosted: HostedFile): void {
    const now = this.#options.now();
    const sitHere = ({ isAlone }: HostWaiter): PoolMember | null =>
      takesAnother(member, isAlone) ? sit(member, hosted, isAlone, now) : null;
    this.#queue.give(hosted, sitHere);
  }

  #beginLoad(member: PoolMember, hosted: HostedFile): void {
    enterTurn(member, hosted, this.#options.now());
    member.isLoading = true;
    const terms = { placing: member.owner !== null ? 'own' : 'shared', maxLoadMs: LOAD_AGAIN_MS } as const;
    void member.host.load(hosted, terms).then((load) => {
      member.isLoading = false;
      if (load.kind === 'loaded') member.loaded.add(hosted);
      this.#options.onLoaded(member, hosted, load);
      this.settle(member);
      this.serve();
    });
  }

  /** A host of a single file loads it before it is called. */
  prepare(member: PoolMember): void {
    if (member.phase === 'idle' && member.owner !== null && !member.host.isEnding())
      this.#beginLoad(member, member.owner);
  }

  /** Finds seats for the calls that wait; starts hosts for them, or has others make way, as far as there is room. */
  serve(): void {
    takeBackYields(this.#options.stock.members, this.#options.maxCalls, (group) => this.waitingIn(group));
    const wanted = new Map<string, HostedFile[]>();
    for (const hosted of this.#queue.list()) {
      this.#queue.give(hosted, ({ isAlone }) => this.#findSeat(hosted, isAlone));
      if (hosted.waiting.size === 0 || hosted.restartAt > this.#options.now()) continue;
      const group = this.#groupOf(hosted);
      const idle = listIdle(this.#options.stock.members, group).slice(0, countMissing(hosted));
      for (const member of idle) this.#beginLoad(member, hosted);
      const missing = Array.from({ length: countMissing(hosted) }, () => hosted);
      wanted.set(group, [...(wanted.get(group) ?? []), ...missing]);
    }
    for (const [group, files] of wanted) this.#grow(group, files);
  }

  /** One host for each of these. */
  #grow(group: string, files: readonly HostedFile[]): void {
    const { stock } = this.#options;
    const starting = stock.countStarting(group);
    for (const hosted of files.slice(starting)) {
      if (!stock.hasRoom()) break;
      if (stock.isAmple() && !this.#hasWaitedLong(hosted)) continue;
      if (stock.start(hosted) !== null) continue;
      noteTrouble(hosted, this.#options.now());
      this.failWaiting(hosted, 'no process could be started for it');
    }
    const missing = files.length - stock.countStarting(group);
    stock.makeRoom(missing);
    if (stock.isFull()) askToYield(stock.members, group, missing);
  }

  /** What soon has its turn is not worth a process more. */
  #hasWaitedLong({ waitingSince }: HostedFile): boolean {
    return this.#options.now() - waitingSince >= LONG_MS;
  }

  #groupOf(hosted: HostedFile): string {
    return toGroup(hosted, this.#options.now());
  }
}
