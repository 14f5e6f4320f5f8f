import type { HostStock } from './host-stock.ts';
import {
  chooseIdle,
  countEnding,
  dropVersion,
  enterTurn,
  findRoomiest,
  type HostedFile,
  type HostWaiter,
  isPrompt,
  listIdle,
  NO_PROCESS,
  type PoolMember,
  ROOMY_CALLS,
  returnTurn,
  type Seating,
  sit,
  takesAnother,
} from './pool-records.ts';
import type { HostLoad } from './tool-host.ts';

type TurnsOptions = {
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
  /** Files whose calls wait for a seat, the one that has waited longest first. */
  readonly #waiting = new Set<HostedFile>();
  readonly #stock: HostStock;
  readonly #options: TurnsOptions;

  constructor(options: TurnsOptions) {
    this.#options = options;
    this.#stock = options.stock;
  }

  /** A seat in a host that has loaded the file; null where the call must wait for one. */
  takeSeat(hosted: HostedFile, seating: Seating): PoolMember | null {
    return hosted.waiting.size > 0 ? null : this.#findSeat(hosted, seating);
  }

  #findSeat(hosted: HostedFile, seating: Seating): PoolMember | null {
    const roomy = findRoomiest(hosted.members, seating, 'own');
    const member = roomy !== null && isPrompt(roomy) ? roomy : this.#findElsewhere(hosted, seating, roomy);
    return member === null ? null : sit(member, hosted, seating, this.#options.now());
  }

  /** A host for a call that does not begin at once beside its company, or has none: `roomy` is the best of those that it has. */
  #findElsewhere(hosted: HostedFile, seating: Seating, roomy: PoolMember | null): PoolMember | null {
    const group = this.#groupOf(hosted);
    const idle = listIdle(this.#stock.members, group);
    // The last one is left to the next file, where this one has room in another already.
    const isCrowded = roomy === null || roomy.seats >= ROOMY_CALLS;
    const other = idle.length > (isCrowded ? 0 : 1) ? chooseIdle(idle, hosted) : null;
    if (other?.loaded.has(hosted)) return other;
    // One that is at hand in a moment is worth a wait.
    const company = roomy === null && other === null ? this.#findOtherCompany(hosted, seating) : roomy;
    if (isCrowded && company !== null) this.#widen(hosted, group, other);
    return company;
  }

  /** A seat beside calls that may end the process, where no other host is at hand and no call of the file has ended one. */
  #findOtherCompany(hosted: HostedFile, seating: Seating): PoolMember | null {
    return hosted.beside === 'own' || hosted.countLoading() > 0 ? null : findRoomiest(hosted.members, seating, 'any');
  }

  /** Seeks another host for a file whose hosts are full, while its calls go on crowding those. */
  #widen(hosted: HostedFile, group: string, idle: PoolMember | null): void {
    const stock = this.#stock;
    if (hosted.countLoading() > 0) return;
    if (idle !== null) this.#beginLoad(idle, hosted);
    else if (stock.countStarting(group) === 0 && stock.hasRoom() && !stock.isAmple()) stock.start(hosted);
  }

  /** Hands over a seat as soon as there is one; gives the way to stop waiting. */
  wait(hosted: HostedFile, waiter: HostWaiter): () => void {
    if (hosted.waiting.size === 0) hosted.waitingSince = this.#options.now();
    hosted.waiting.add(waiter);
    this.#waiting.add(hosted);
    this.serve();
    return () => {
      hosted.waiting.delete(waiter);
      if (hosted.waiting.size === 0) this.#waiting.delete(hosted);
    };
  }

  failWaiting(hosted: HostedFile, reason: string): void {
    const waiters = [...hosted.waiting];
    hosted.waiting.clear();
    this.#waiting.delete(hosted);
    for (const waiter of waiters) waiter.fail(reason, Math.max(0, hosted.restartAt - this.#options.now()));
  }

  /** The files of a group whose calls wait. */
  waitingIn(group: string): readonly HostedFile[] {
    return [...this.#waiting].filter((hosted) => this.#groupOf(hosted) === group);
  }

  /** What becomes of a host: further calls of its file, another file's turn, a pause, or its end. */
  settle(member: PoolMember): void {
    const { host } = member;
    if (host.isEnding || member.phase === 'starting') return;
    if (member.seats > 0 || member.isLoading) {
      // Never without calls, it would never end.
      if (host.answered >= this.#options.maxCalls) member.isYielding = true;
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
    if (host.isSpent || host.answered >= this.#options.maxCalls || deadVersions > MOST_DEAD_VERSIONS) return 'recycle';
    return this.#stock.isClosing || this.#isAbandoned(member) || this.#isInTheWay(member) ? 'surplus' : null;
  }

  /** It was one file's own, and that has its place among others again, or is gone. */
  #isAbandoned({ owner, group }: PoolMember): boolean {
    if (owner === null) return false;
    return this.#groupOf(owner) !== group || (owner.retired && owner.waiting.size === 0);
  }

  /** Calls of another group have waited for long, and there is neither a host of theirs nor room for one. */
  #isInTheWay({ group }: PoolMember): boolean {
    const now = this.#options.now();
    const isStarving = (hosted: HostedFile): boolean => {
      const other = this.#groupOf(hosted);
      const isDue = hosted.restartAt <= now && now - hosted.waitingSince >= VERY_LONG_MS;
      return isDue && other !== group && !this.#stock.has(other);
    };
    return this.#stock.isFull() && countEnding(this.#stock.members) === 0 && [...this.#waiting].some(isStarving);
  }

  #giveTurn(member: PoolMember): void {
    const next = this.#findNext(member);
    if (next === undefined) this.#beIdle(member);
    else if (member.loaded.has(next)) this.#fill(member, next);
    else this.#beginLoad(member, next);
  }

  #findNext(member: PoolMember): HostedFile | undefined {
    const isRestless = member.host.unrest !== null;
    return [...this.#waiting].find((hosted) => {
      if (hosted.restartAt > this.#options.now() || this.#groupOf(hosted) !== member.group) return false;
      return hosted === member.turn || (!isRestless && hosted.countMissing() > 0);
    });
  }

  #beIdle(member: PoolMember): void {
    member.phase = 'idle';
    member.since = this.#options.now();
    // Calls of other groups may have waited for somebody to make way.
    if (this.#waiting.size > 0) this.serve();
  }

  /** As many of the calls that wait as have a seat in this host. */
  #fill(member: PoolMember, hosted: HostedFile): void {
    const now = this.#options.now();
    this.#give(hosted, (waiter) => {
      if (takesAnother(member, waiter, 'own')) return sit(member, hosted, waiter, now);
      return hosted.isDangerous || waiter.isAlone ? null : this.#findSeat(hosted, waiter);
    });
  }

  /**
   * Gives seats to the file's calls, in their order, as long as there are any; a call that may not run beside others holds
   * up none of them. Where some go on waiting, the calls of other files come first now.
   */
  #give(hosted: HostedFile, seatOf: (waiter: HostWaiter) => PoolMember | null): void {
    let seated = 0;
    const withoutSeat = new Set<string | null>();
    for (const waiter of hosted.waiting) {
      const company = waiter.isAlone ? null : waiter.company;
      const member = withoutSeat.has(company) ? null : seatOf(waiter);
      if (member === null) {
        withoutSeat.add(company);
        continue;
      }
      hosted.waiting.delete(waiter);
      waiter.take(member);
      seated += 1;
    }
    if (seated === 0) return;
    this.#waiting.delete(hosted);
    if (hosted.waiting.size > 0) this.#waiting.add(hosted);
  }

  #beginLoad(member: PoolMember, hosted: HostedFile): void {
    enterTurn(member, hosted, this.#options.now());
    member.isLoading = true;
    void member.host.load(hosted, member.owner === null ? 'shared' : 'own', LOAD_AGAIN_MS).then((load) => {
      member.isLoading = false;
      if (load.kind === 'loaded') member.loaded.add(hosted);
      this.#options.onLoaded(member, hosted, load);
      this.settle(member);
      this.serve();
    });
  }

  /** A host of a single file loads it before it is called. */
  prepare(member: PoolMember): void {
    if (member.phase === 'idle' && member.owner !== null && !member.host.isEnding)
      this.#beginLoad(member, member.owner);
  }

  /** Finds seats for the calls that wait; starts hosts for them, or has others make way, as far as there is room. */
  serve(): void {
    this.#takeBackYields();
    const wanted = new Map<string, HostedFile[]>();
    for (const hosted of [...this.#waiting]) {
      this.#give(hosted, (waiter) => this.#findSeat(hosted, waiter));
      if (hosted.waiting.size === 0 || hosted.restartAt > this.#options.now()) continue;
      const group = this.#groupOf(hosted);
      const idle = listIdle(this.#stock.members, group).slice(0, hosted.countMissing());
      for (const member of idle) this.#beginLoad(member, hosted);
      const missing = Array.from({ length: hosted.countMissing() }, () => hosted);
      wanted.set(group, [...(wanted.get(group) ?? []), ...missing]);
    }
    for (const [group, files] of wanted) this.#grow(group, files);
  }

  /** One host for each of these. */
  #grow(group: string, files: readonly HostedFile[]): void {
    const stock = this.#stock;
    const now = this.#options.now();
    for (const hosted of files.slice(stock.countStarting(group))) {
      if (!stock.hasRoom()) break;
      // What soon has its turn is not worth a process more.
      if (stock.isAmple() && now - hosted.waitingSince < LONG_MS) continue;
      if (stock.start(hosted) !== null) continue;
      hosted.noteTrouble(now);
      this.failWaiting(hosted, NO_PROCESS);
    }
    const missing = files.length - stock.countStarting(group);
    stock.makeRoom(missing);
    if (stock.isFull()) this.#askToYield(group, missing);
  }

  /** Has as many hosts of a group as are missing take no more calls of their files: those with the fewest calls first. */
  #askToYield(group: string, missing: number): void {
    const busy = [...this.#stock.members].filter(
      (member) => member.group === group && member.seats > 0 && member.closedFor === null,
    );
    const able = busy.filter(({ isYielding }) => !isYielding).sort((a, b) => a.seats - b.seats);
    const yielding = busy.length - able.length;
    for (const member of able.slice(0, Math.max(0, missing - yielding))) member.isYielding = true;
  }

  /**
   * Lets hosts take calls of their files again where nobody waits for their turn any more: who did has found a seat
   * elsewhere, or has given up. A host that answered `maxCalls` goes on yielding: it is to be replaced.
   */
  #takeBackYields(): void {
    for (const member of this.#stock.members) {
      if (!member.isYielding || member.host.answered >= this.#options.maxCalls) continue;
      const isOther = (hosted: HostedFile): boolean =>
        hosted !== member.turn || hosted.isDangerous || hosted.countAlone() > 0;
      member.isYielding = this.waitingIn(member.group).some(isOther);
    }
  }

  #groupOf(hosted: HostedFile): string {
    return hosted.toGroup(this.#options.now());
  }
}
