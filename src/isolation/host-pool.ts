import { availableParallelism } from 'node:os';
import type { LoadedToolFile, ToolFileHosts } from '../tools/directory/load-tool-file.ts';
import type { ToolFile } from '../tools/tool.ts';
import { isOwnFault, toRestartReason } from './classify-death.ts';
import {
  countEnding,
  countPhase,
  createFileHosts,
  type FileHosts,
  findLeastServed,
  findMember,
  type HostPoolSettings,
  type HostWaiter,
  learnFrom,
  noteTrouble,
  type PoolMember,
} from './file-hosts.ts';
import type { Death } from './isolation-observer.ts';

const KEEPS_ENDING = 'its process keeps ending';
const IDLE_MS = 30_000;
// Starting is what costs a core; more at a time would only make each one later.
const MAX_STARTING = Math.max(2, availableParallelism());

/**
 * Warm processes for tool files. Each belongs to one version of one file for its life, so that no tool ever runs in a
 * process that another file's code has touched. Grows where calls wait; shrinks to `minHosts` when nothing happens.
 */
export class HostPool implements ToolFileHosts {
  readonly members: ReadonlySet<PoolMember>;
  readonly #members = new Set<PoolMember>();
  readonly #files = new Map<ToolFile, FileHosts>();
  /** Also of versions that are gone: a call that was let in before still needs what was learned of them. */
  readonly #known = new WeakMap<ToolFile, FileHosts>();
  readonly #settings: HostPoolSettings;
  readonly #whenEmpty: (() => void)[] = [];
  #isClosing = false;

  constructor(settings: HostPoolSettings) {
    this.#settings = settings;
    this.members = this.#members;
  }

  /** Loads a version in a process of its own, which stays as its first host. Never rejects. */
  async load(file: ToolFile): Promise<LoadedToolFile> {
    const hosts = createFileHosts(file);
    this.#files.set(file, hosts);
    this.#known.set(file, hosts);
    const member = this.#start(hosts);
    const loaded: LoadedToolFile =
      member === null ? { kind: 'failed', reason: 'no process could be started for it' } : await member.host.loaded;
    if (loaded.kind === 'failed') this.retire(file);
    else learnFrom(hosts, loaded);
    // It had to start without the variables that its tools ask for.
    if (hosts.asked.length > 0) member?.host.kill('recycle');
    // Loads are not held up by a full pool, but do not leave it overfull.
    if (this.#members.size > this.#settings.maxHosts) this.#evict();
    this.#keepWarm();
    return loaded;
  }

  retire(file: ToolFile): void {
    const hosts = this.#files.get(file);
    if (hosts === undefined) return;
    hosts.retired = true;
    for (const member of hosts.members) if (member.phase === 'idle') member.host.kill('surplus');
    this.#forget(hosts);
  }

  /** A host of this file that is idle, busy from now on; null where there is none. */
  takeIdle(file: ToolFile): PoolMember | null {
    const idle = findMember(this.#hostsOf(file).members, 'idle', 'newest') ?? null;
    if (idle !== null) this.#enter(idle, 'busy');
    return idle;
  }

  /** Hands over a host of this file as soon as there is one; gives the way to stop waiting. */
  obtain(file: ToolFile, waiter: HostWaiter): () => void {
    const hosts = this.#hostsOf(file);
    const idle = this.takeIdle(file);
    const waitMs = hosts.restartAt - this.#settings.now();
    if (idle !== null) waiter.take(idle);
    else if (hosts.members.size === 0 && waitMs > 0) waiter.fail(KEEPS_ENDING, waitMs);
    else {
      hosts.waiting.add(waiter);
      this.#grow(hosts);
    }
    return () => void hosts.waiting.delete(waiter);
  }

  /** The call in this host has been answered, and the host may have another. */
  giveBack(member: PoolMember): void {
    member.hosts.troubles = 0;
    member.hosts.restartAt = 0;
    this.#settle(member);
  }

  /** Ends what has been idle for long, and starts what is missing. Called every few seconds. */
  tidy(): void {
    let spare = this.#members.size - this.#settings.minHosts;
    for (const member of this.#members) {
      if (spare <= 0) break;
      if (member.phase !== 'idle' || this.#settings.now() - member.since <= IDLE_MS || member.host.isEnding()) continue;
      member.host.kill('surplus');
      spare -= 1;
    }
    // For calls whose file had to pause.
    this.#growAll();
    this.#keepWarm();
  }

  /** Ends all processes at once; none starts any more. */
  killAll(): void {
    this.#isClosing = true;
    for (const { host } of this.#members) host.kill('shutdown');
  }

  whenEmpty(): Promise<void> {
    return this.#members.size === 0 ? Promise.resolve() : new Promise((done) => void this.#whenEmpty.push(done));
  }

  #start(hosts: FileHosts): PoolMember | null {
    const host = this.#isClosing ? null : this.#settings.startHost(hosts);
    if (host === null) {
      noteTrouble(hosts, this.#settings.now());
      this.#failWaiting(hosts, 'no process could be started for it');
      return null;
    }
    const member: PoolMember = { host, hosts, phase: 'starting', since: this.#settings.now() };
    this.#members.add(member);
    hosts.members.add(member);
    void host.loaded.then((loaded) => this.#onLoaded(member, loaded));
    void host.ended.then((death) => this.#onEnded(member, death));
    return member;
  }

  #onLoaded(member: PoolMember, loaded: LoadedToolFile): void {
    if (loaded.kind === 'loaded') {
      this.#settle(member);
      // Only so many start at once: now another may.
      this.#growAll();
      return;
    }
    const { host, hosts } = member;
    host.kill('surplus');
    noteTrouble(hosts, this.#settings.now());
    // As long as the file has others that work, its calls may still have one of them.
    if (countPhase(hosts.members, 'starting') === hosts.members.size) this.#failWaiting(hosts, loaded.reason);
  }

  #failWaiting(hosts: FileHosts, reason: string): void {
    const waiting = [...hosts.waiting];
    hosts.waiting.clear();
    for (const waiter of waiting) waiter.fail(reason, Math.max(0, hosts.restartAt - this.#settings.now()));
  }

  /** What becomes of a host that is free: the next call, a pause, or its end. */
  #settle(member: PoolMember): void {
    const { host, hosts } = member;
    if (host.isEnding()) return;
    const [waiter] = hosts.waiting;
    if (host.isSpent() || host.answered() >= this.#settings.maxCalls) host.kill('recycle');
    else if (waiter !== undefined) this.#occupy(member, waiter);
    else if (hosts.retired || this.#isClosing) host.kill('surplus');
    else this.#beIdle(member);
  }

  #beIdle(member: PoolMember): void {
    this.#enter(member, 'idle');
    // Another file's calls may have waited for somebody to make way.
    if (this.#members.size >= this.#settings.maxHosts) this.#growAll();
  }

  #occupy(member: PoolMember, waiter: HostWaiter): void {
    member.hosts.waiting.delete(waiter);
    this.#enter(member, 'busy');
    waiter.take(member);
  }

  #enter(member: PoolMember, phase: PoolMember['phase']): void {
    member.phase = phase;
    member.since = this.#settings.now();
  }

  #onEnded(member: PoolMember, death: Death): void {
    const { hosts } = member;
    const { now, onEnded } = this.#settings;
    this.#members.delete(member);
    hosts.members.delete(member);
    const restart = toRestartReason(death);
    // One that ended while it loaded is counted as a failed start.
    if (isOwnFault(restart) && member.phase !== 'starting') noteTrouble(hosts, now());
    if (hosts.members.size === 0 && hosts.restartAt > now()) this.#failWaiting(hosts, KEEPS_ENDING);
    onEnded(member, death, restart);
    if (this.#members.size === 0) for (const resolve of this.#whenEmpty.splice(0)) resolve();
    this.#forget(hosts);
    // As warm as before: the next call should not pay for this one.
    if (restart !== null && hosts.isLoaded) this.#replace(hosts);
    this.#growAll();
    this.#keepWarm();
  }

  #replace(hosts: FileHosts): void {
    const waitMs = hosts.restartAt - this.#settings.now();
    if (hosts.retired) return;
    if (waitMs > 0) setTimeout(() => this.#replace(hosts), waitMs).unref();
    else if (this.#hasRoom() && [...hosts.members].every(({ phase }) => phase === 'busy')) this.#start(hosts);
  }

  #hasRoom(): boolean {
    return this.#members.size < this.#settings.maxHosts && countPhase(this.#members, 'starting') < MAX_STARTING;
  }

  /** Starts hosts for the calls that wait, as far as there is room; makes room where only idle hosts are in the way. */
  #grow(hosts: FileHosts): void {
    if (hosts.restartAt > this.#settings.now()) return;
    let missing = hosts.waiting.size - countPhase(hosts.members, 'starting');
    while (missing > 0 && this.#hasRoom() && this.#start(hosts) !== null) missing -= 1;
    if (this.#members.size >= this.#settings.maxHosts && missing > countEnding(this.#members)) this.#evict();
  }

  #evict(): void {
    findMember(this.#members, 'idle', 'oldest')?.host.kill('surplus');
  }

  #growAll(): void {
    for (const hosts of this.#files.values()) if (hosts.waiting.size > 0) this.#grow(hosts);
  }

  #keepWarm(): void {
    while (this.#members.size < this.#settings.minHosts && this.#hasRoom()) {
      const hosts = findLeastServed(this.#files.values(), this.#settings.now());
      if (hosts === undefined || this.#start(hosts) === null) return;
    }
  }

  /** A call may still come for a version that is gone: it was let in before. */
  #hostsOf(file: ToolFile): FileHosts {
    const serving = this.#files.get(file);
    if (serving !== undefined) return serving;
    const hosts = this.#known.get(file) ?? createFileHosts(file);
    hosts.retired = true;
    this.#files.set(file, hosts);
    return hosts;
  }

  #forget(hosts: FileHosts): void {
    if (hosts.retired && hosts.members.size === 0 && hosts.waiting.size === 0) this.#files.delete(hosts.file);
  }
}
