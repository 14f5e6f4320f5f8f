import { availableParallelism } from 'node:os';
import type { HostStock } from './host-stock.ts';
import { type HostedFile, NO_PROCESS, type PoolMember, toGranted } from './pool-records.ts';
import type { HostLoad } from './tool-host.ts';

/** What a file declares, and what loading it left behind. */
type Discovered = Extract<HostLoad, { kind: 'loaded' | 'failed' }>;

type DiscoveryOptions = {
  readonly now: () => number;
  /** Whether a tool that asks for the variable of this name gets it. */
  readonly isGranted: (name: string) => boolean;
  readonly stock: HostStock;
  /** Nothing is read in this host any more. */
  readonly onDone: (member: PoolMember) => void;
};

type Job = { readonly hosted: HostedFile; readonly resolve: (end: Discovered) => void };

// The service does not listen before all files are loaded. One that takes long among others is tried again alone, so
// that the others need not wait for it.
const AMONG_OTHERS_MS = 1000;
const ALONE_MS = 2000;
// Reading a declaration takes milliseconds once a process is up; what costs a core is starting one.
const READERS = 2;
const FILES_A_READER = 8;
const READERS_OF_ONE = Math.max(4, 2 * availableParallelism());

/**
 * Reads what files declare: one after another in one or two processes, each with its own time. Where a process breaks
 * at a file, the others go on in a fresh one, and that file is tried again alone.
 */
export class Discovery {
  readonly #options: DiscoveryOptions;
  readonly #stock: HostStock;
  readonly #together: Job[] = [];
  readonly #alone: Job[] = [];
  readonly #members = new WeakSet<PoolMember>();
  #readers = 0;
  #readersOfOne = 0;

  constructor(options: DiscoveryOptions) {
    this.#options = options;
    this.#stock = options.stock;
  }

  /** Whether this host is in the hands of the discovery. */
  takes(member: PoolMember): boolean {
    return this.#members.has(member);
  }

  /** Never rejects. */
  load(hosted: HostedFile): Promise<Discovered> {
    return new Promise((resolve) => {
      this.#together.push({ hosted, resolve });
      const wanted = Math.min(READERS, Math.ceil(this.#together.length / FILES_A_READER));
      if (this.#readers < wanted) void this.#readTogether();
    });
  }

  /** Reads it with the variables that it is expected to ask for; again, where it asks for others. Never rejects. */
  async readWithVariables(hosted: HostedFile): Promise<Discovered> {
    const first = await this.load(hosted);
    if (first.kind === 'failed') return first;
    const granted = toGranted(first.tools, this.#options.isGranted);
    if (granted.join() === hosted.granted.join()) return first;
    hosted.granted = granted;
    return this.load(hosted);
  }

  async #readTogether(): Promise<void> {
    this.#readers += 1;
    let member: PoolMember | null = null;
    while (this.#together[0] !== undefined) {
      member ??= await this.#start(this.#together[0].hosted);
      // Another reader may have taken it meanwhile; and what is left may have to be read with other variables.
      const job = this.#takeJob(member);
      if (job !== undefined) member = await this.#readNext(member, job);
      else {
        this.#release(member);
        member = null;
      }
    }
    this.#readers -= 1;
    this.#release(member);
  }

  /** The next file that has the variables of this host, if one waits. */
  #takeJob(member: PoolMember | null): Job | undefined {
    if (member === null) return this.#together.shift();
    const at = this.#together.findIndex(({ hosted }) => hosted.toGroup(this.#options.now()) === member.group);
    return at === -1 ? undefined : this.#together.splice(at, 1)[0];
  }

  /** Gives the host that the next file can be read in. */
  async #readNext(member: PoolMember | null, job: Job): Promise<PoolMember | null> {
    const isLast = this.#together.length === 0;
    const isAlone = isLast && member?.loaded.size === 0;
    const load = await this.#read(member, job.hosted, isLast ? ALONE_MS : AMONG_OTHERS_MS);
    this.#settle(job, load, isAlone ? 'alone' : 'together');
    const isFit = load.kind === 'failed' || (load.kind === 'loaded' && load.trace === null);
    return isFit ? member : this.#end(member);
  }

  #settle(job: Job, load: HostLoad, how: 'alone' | 'together'): void {
    if (load.kind === 'loaded' || load.kind === 'failed') job.resolve(load);
    else if (how === 'alone') job.resolve(toFailed(load));
    else {
      this.#alone.push(job);
      if (this.#readersOfOne < READERS_OF_ONE) void this.#readAlone();
    }
  }

  async #readAlone(): Promise<void> {
    this.#readersOfOne += 1;
    for (let job = this.#alone.shift(); job !== undefined; job = this.#alone.shift()) {
      const member = await this.#start(job.hosted);
      const load = await this.#read(member, job.hosted, ALONE_MS);
      job.resolve(load.kind === 'loaded' ? load : toFailed(load));
      if (load.kind === 'loaded' && load.trace === null) this.#release(member);
      else this.#end(member);
    }
    this.#readersOfOne -= 1;
  }

  async #start(hosted: HostedFile): Promise<PoolMember | null> {
    const member = this.#stock.start(hosted);
    if (member === null) return null;
    this.#members.add(member);
    await member.host.ready;
    member.phase = 'busy';
    member.isLoading = true;
    return member;
  }

  async #read(member: PoolMember | null, hosted: HostedFile, maxLoadMs: number): Promise<HostLoad> {
    if (member === null) return { kind: 'broken', reason: NO_PROCESS };
    const problem = await member.host.ready;
    if (problem !== null) return { kind: 'broken', reason: problem };
    const load = await member.host.load(hosted, 'shared', maxLoadMs);
    if (load.kind === 'loaded') member.loaded.add(hosted);
    return load;
  }

  #end(member: PoolMember | null): null {
    if (member !== null) this.#members.delete(member);
    member?.host.kill('surplus');
    return null;
  }

  /** From now on the host is one of the pool, if there is room for it. */
  #release(member: PoolMember | null): void {
    if (member === null || member.host.isEnding) return;
    this.#members.delete(member);
    member.isLoading = false;
    this.#options.onDone(member);
    if (this.#stock.isOverfull()) this.#stock.makeRoom(1);
  }
}

const toFailed = (load: Exclude<HostLoad, { kind: 'loaded' }>): Discovered => ({
  kind: 'failed',
  reason: load.kind === 'refused' ? 'its process did not start loading it' : load.reason,
  thrown: load.kind === 'failed' ? load.thrown : null,
});
