import type { HostStock } from './host-stock.ts';
import {
  findBest,
  findRoomiest,
  type HostedFile,
  type HostWaiter,
  NO_PROCESS,
  type PoolMember,
  ROOMY_CALLS,
  type SlotRequest,
} from './pool-records.ts';
import type { HostLoad } from './tool-host.ts';

type SchedulerOptions = {
  readonly stock: HostStock;
  /** Calls after which a host is replaced. */
  readonly maxCalls: number;
  readonly now: () => number;
  /** What came of loading a file for its calls. */
  readonly onLoaded: (member: PoolMember, hosted: HostedFile, load: HostLoad) => void;
};

// The code of versions that are gone stays in a process until it ends.
const MOST_DEAD_VERSIONS = 50;
// A file that has been loaded before may take its time: the machine is busy then, and giving up would only begin it all again.
const LOAD_AGAIN_MS = 10_000;
// About what it takes to start a process.
const LONG_MS = 100;
// A process that makes way takes with it what its files took to load: after one second it halved what a full pool answers.
const VERY_LONG_MS = 5000;

/**
 * Which host runs calls of which file. A host is assigned to one file; when the calls of that file have ended and none of
 * their work is pending, it goes to the file whose calls have waited longest. What it owns are the files whose calls wait.
 *
 * acquire: a slot beside other calls of the file, in an idle host, or once there is one. release: a host whose calls have ended
 * goes on with the next file, rests, or ends. drain: a host takes no more calls, for another file waits. evict: an idle or
 * drained host ends, for calls of another group wait.
 */
export class HostScheduler {
  /** Files whose calls wait for a slot, the one that has waited longest first. */
  readonly #waiting = new Set<HostedFile>();
  readonly #stock: HostStock;
  readonly #options: SchedulerOptions;

  constructor(options: SchedulerOptions) {
    this.#options = options;
    this.#stock = options.stock;
  }

  /** A slot in a host that has loaded the file; null where the call must wait for one. */
  tryAcquire(hosted: HostedFile, request: SlotRequest): PoolMember | null {
    return hosted.waiting.size > 0 ? null : this.#findSlot(hosted, request);
  }

  /** Hands over a slot as soon as there is one; gives the way to stop waiting. */
  acquire(hosted: HostedFile, waiter: HostWaiter): () => void {
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

  #findSlot(hosted: HostedFile, request: SlotRequest): PoolMember | null {
    const roomy = findRoomiest(hosted.members, request, 'own');
    const member = roomy?.isPrompt ? roomy : this.#findElsewhere(hosted, request, roomy);
    return member === null ? null : member.occupy(hosted, request, this.#options.now());
  }

  /** A host for a call that does not begin at once beside its company, or has none: `roomy` is the best of those that it has. */
  #findElsewhere(hosted: HostedFile, request: SlotRequest, roomy: PoolMember | null): PoolMember | null {
    const free = this.#stock.free(this.#groupOf(hosted));
    // The last one is left to the next file, where this one has room in another already.
    const isCrowded = roomy === null || roomy.slots >= ROOMY_CALLS;
    const other = free.length > (isCrowded ? 0 : 1) ? findFreeFor(free, hosted) : null;
    if (other?.loaded.has(hosted)) return other;
    // Beside calls that may end the process only where no call of the file has ended one. A host at hand is worth a wait.
    const mayMix = roomy === null && other === null && !hosted.isDangerous && !hosted.isLoading;
    const company = mayMix ? findRoomiest(hosted.members, request, 'any') : roomy;
    if (isCrowded && company !== null) this.#widen(hosted, other);
    return company;
  }

  /** Seeks another host for a file whose hosts are full, while its calls go on crowding those. */
  #widen(hosted: HostedFile, free: PoolMember | null): void {
    const stock = this.#stock;
    if (hosted.isLoading) return;
    if (free !== null) this.#load(free, hosted);
    else if (stock.countStarting(this.#groupOf(hosted)) === 0 && stock.mayStart && !stock.isAmple) stock.start(hosted);
  }

  /** A call, a load or the start of this host has ended: it takes more calls of its file, or goes on with the next file. */
  release(member: PoolMember): void {
    const { host, assigned } = member;
    if (host.isEnding || (member.isSpare && member.state !== 'idle')) return;
    if (member.slots === 0) {
      this.#releaseEmpty(member);
      return;
    }
    // Never without calls, it would never end.
    if (host.answered >= this.#options.maxCalls && member.state === 'serving') member.state = 'draining';
    if (assigned !== null) this.#fill(member, assigned);
  }

  #releaseEmpty(member: PoolMember): void {
    member.reassign();
    const { state, assigned } = member;
    member.isAlone = false;
    if (state !== 'idle') member.state = 'serving';
    if (assigned?.retired && assigned.waiting.size === 0) member.unload(assigned);
    const reason = state === 'left' ? 'recycle' : this.#findReasonToEnd(member);
    if (reason === null) this.#assignNext(member);
    else member.host.kill(reason);
  }

  #findReasonToEnd(member: PoolMember): 'recycle' | 'surplus' | null {
    const { host, deadVersions, owner, group } = member;
    if (host.isUnusable || host.answered >= this.#options.maxCalls || deadVersions > MOST_DEAD_VERSIONS)
      return 'recycle';
    // It was one file's own, and that has its place among others again, or is gone.
    const isAbandoned =
      owner !== null && (this.#groupOf(owner) !== group || (owner.retired && owner.waiting.size === 0));
    return this.#stock.isClosing || isAbandoned || this.#mustEvict(group) ? 'surplus' : null;
  }

  /** Calls of another group have waited for long, and there is neither a host of theirs nor room for one. */
  #mustEvict(group: string): boolean {
    const { members, room } = this.#stock;
    if (this.#waiting.size === 0 || room > 0 || this.#stock.countEnding() > 0) return false;
    const now = this.#options.now();
    return [...this.#waiting].some((hosted) => {
      const other = this.#groupOf(hosted);
      const isDue = hosted.restartAt <= now && now - hosted.waitingSince >= VERY_LONG_MS;
      return isDue && other !== group && ![...members].some((member) => member.group === other);
    });
  }

  #assignNext(member: PoolMember): void {
    const next = this.#findNext(member);
    if (next !== undefined) {
      if (member.loaded.has(next)) this.#fill(member, next);
      else this.#load(member, next);
      return;
    }
    member.state = 'idle';
    member.since = this.#options.now();
    // Calls of other groups may have waited for a host to make way.
    if (this.#waiting.size > 0) this.serve();
  }

  #findNext({ group, assigned, host }: PoolMember): HostedFile | undefined {
    if (this.#waiting.size === 0) return undefined;
    return this.waitingIn(group).find((hosted) => {
      if (hosted.restartAt > this.#options.now()) return false;
      return hosted === assigned || (host.pendingWork === null && hosted.countMissing() > 0);
    });
  }

  /** As many of the calls that wait as have a slot in this host. */
  #fill(member: PoolMember, hosted: HostedFile): void {
    const now = this.#options.now();
    this.#handOut(hosted, (waiter) => {
      if (member.accepts(waiter, 'own')) return member.occupy(hosted, waiter, now);
      return hosted.isDangerous || waiter.isAlone ? null : this.#findSlot(hosted, waiter);
    });
  }

  /**
   * Gives slots to the file's calls, in their order, as long as there are any; a call that may not run beside others holds
   * up none of them. Where some go on waiting, the calls of other files come first now.
   */
  #handOut(hosted: HostedFile, findSlot: (waiter: HostWaiter) => PoolMember | null): void {
    const before = hosted.waiting.size;
    const withoutSlot = new Set<string | null>();
    for (const waiter of hosted.waiting) {
      const company = waiter.isAlone ? null : waiter.company;
      const member = withoutSlot.has(company) ? null : findSlot(waiter);
      if (member === null) {
        withoutSlot.add(company);
        continue;
      }
      hosted.waiting.delete(waiter);
      waiter.take(member);
    }
    if (hosted.waiting.size === before) return;
    this.#waiting.delete(hosted);
    if (hosted.waiting.size > 0) this.#waiting.add(hosted);
  }

  #load(member: PoolMember, hosted: HostedFile): void {
    member.enter('loading', hosted, this.#options.now());
    void member.host.load(hosted, member.owner === null ? 'shared' : 'own', LOAD_AGAIN_MS).then((load) => {
      member.state = 'serving';
      if (load.kind === 'loaded') member.loaded.add(hosted);
      this.#options.onLoaded(member, hosted, load);
      this.release(member);
      this.serve();
    });
  }

  /** A host of a single file loads it before it is called. */
  prepare(member: PoolMember): void {
    if (member.state === 'idle' && member.owner !== null && !member.host.isEnding) this.#load(member, member.owner);
  }

  /** Finds slots for the calls that wait; starts hosts for them, or has others make way, as far as there is room. */
  serve(): void {
    this.#stopDraining();
    const wanted = new Map<string, HostedFile[]>();
    for (const hosted of [...this.#waiting]) {
      this.#handOut(hosted, (waiter) => this.#findSlot(hosted, waiter));
      if (hosted.waiting.size === 0 || hosted.restartAt > this.#options.now()) continue;
      const group = this.#groupOf(hosted);
      for (const member of this.#stock.free(group).slice(0, hosted.countMissing())) this.#load(member, hosted);
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
      if (!stock.mayStart) break;
      // What soon has a host is not worth a process more.
      if (stock.isAmple && now - hosted.waitingSince < LONG_MS) continue;
      if (stock.start(hosted) !== null) continue;
      hosted.noteTrouble(now);
      this.failWaiting(hosted, NO_PROCESS);
    }
    const missing = files.length - stock.countStarting(group);
    stock.evict(missing);
    if (stock.room <= 0) this.#drain(group, missing);
  }

  /** Has as many hosts of a group as are missing take no more calls of their files: those with the fewest calls first. */
  #drain(group: string, missing: number): void {
    const hosts = [...this.#stock.members].filter((member) => member.group === group && member.slots > 0);
    const draining = hosts.filter(({ state }) => state === 'draining').length;
    const able = hosts.filter(({ state }) => state === 'serving').sort((one, other) => one.slots - other.slots);
    for (const member of able.slice(0, Math.max(0, missing - draining))) member.state = 'draining';
  }

  /**
   * Hosts take calls of their files again where no other file waits for them any more: its calls have found a slot elsewhere,
   * or have given up. A host that answered `maxCalls` goes on draining: it is to be replaced.
   */
  #stopDraining(): void {
    for (const member of this.#stock.members) {
      if (member.state !== 'draining' || member.host.answered >= this.#options.maxCalls) continue;
      const isOther = (hosted: HostedFile): boolean =>
        hosted !== member.assigned || hosted.isDangerous || hosted.hasAlone;
      if (!this.waitingIn(member.group).some(isOther)) member.state = 'serving';
    }
  }

  #groupOf(hosted: HostedFile): string {
    return hosted.groupAt(this.#options.now());
  }
}

/** The one that has the file already, else the one that was busy last: its successors may end. */
const findFreeFor = (free: readonly PoolMember[], file: HostedFile): PoolMember | null =>
  findBest(free, (member, best) => {
    const [has, bestHas] = [member.loaded.has(file), best.loaded.has(file)];
    return has === bestHas ? member.since > best.since : has;
  });
