import { availableParallelism } from 'node:os';
import type { HostStock } from './host-stock.ts';
import { type HostedFile, listGranted, NO_PROCESS, type PoolMember } from './pool-records.ts';
import type { HostLoad } from './tool-host.ts';

/** What a file declares, and what loading it left behind. */
type Discovered = Exclude<HostLoad, { kind: 'refused' }>;

type DiscoveryOptions = {
  readonly now: () => number;
  /** Whether a tool that asks for the variable of this name gets it. */
  readonly isGranted: (name: string) => boolean;
  readonly stock: HostStock;
  /** The discovery has no more use for this host. */
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
  readonly #together: Job[] = [];
  readonly #alone: Job[] = [];
  readonly #members = new WeakSet<PoolMember>();
  #readers = 0;
  #readersOfOne = 0;

  constructor(options: DiscoveryOptions) {
    this.#options = options;
  }

  /** Whether the discovery reads files in this host. */
  owns(member: PoolMember): boolean {
    return this.#members.has(member);
  }

  /** Reads it with the variables that it is expected to ask for; again, where it asks for others. Never rejects. */
  async readWithVariables(hosted: HostedFile): Promise<Discovered> {
    const first = await this.#queue(hosted);
    if (first.kind !== 'loaded') return first;
    const granted = listGranted(first.tools, this.#options.isGranted);
    if (granted.join() === hosted.granted.join()) return first;
    hosted.granted = granted;
    return this.#queue(hosted);
  }

  #queue(hosted: HostedFile): Promise<Discovered> {
    return new Promise((resolve) => {
      this.#together.push({ hosted, resolve });
      const wanted = Math.min(READERS, Math.ceil(this.#together.length / FILES_A_READER));
      if (this.#readers < wanted) void this.#readTogether();
    });
  }

  async #readTogether(): Promise<void> {
    this.#readers += 1;
    let member: PoolMember | null = null;
    while (this.#together[0] !== undefined) {
      member ??= await this.#start(this.#together[0].hosted);
      // Another reader may have taken it meanwhile; and what is left may have to be read with other variables.
      const job = this.#takeJob(member);
      if (job !== undefined) member = await this.#readNext(member, job);
      else member = this.#release(member);
    }
    this.#readers -= 1;
    this.#release(member);
  }

  /** The next file that has the variables of this host, if one waits. */
  #takeJob(member: PoolMember | null): Job | undefined {
    if (member === null) return this.#together.shift();
    const at = this.#together.findIndex(({ hosted }) => hosted.groupAt(this.#options.now()) === member.group);
    return at === -1 ? undefined : this.#together.splice(at, 1)[0];
  }

  /** Gives the host that the next file can be read in. */
  async #readNext(member: PoolMember | null, job: Job): Promise<PoolMember | null> {
    const isLast = this.#together.length === 0;
    const wasAlone = isLast && member?.loaded.size === 0;
    const load = await this.#read(member, job.hosted, isLast ? ALONE_MS : AMONG_OTHERS_MS);
    if (load.kind === 'loaded' || load.kind === 'failed' || wasAlone) job.resolve(settleLoad(load));
    else {
      this.#alone.push(job);
      if (this.#readersOfOne < READERS_OF_ONE) void this.#readAlone();
    }
    const isFit = load.kind === 'failed' || (load.kind === 'loaded' && load.trace === null);
    return isFit ? member : this.#end(member);
  }

  async #readAlone(): Promise<void> {
    this.#readersOfOne += 1;
    for (let job = this.#alone.shift(); job !== undefined; job = this.#alone.shift()) {
      const member = await this.#start(job.hosted);
      const load = await this.#read(member, job.hosted, ALONE_MS);
      job.resolve(settleLoad(load));
      if (load.kind === 'loaded' && load.trace === null) this.#release(member);
      else this.#end(member);
    }
    this.#readersOfOne -= 1;
  }

  async #start(hosted: HostedFile): Promise<PoolMember | null> {
    const member = this.#options.stock.start(hosted);
    if (member === null) return null;
    this.#members.add(member);
    await member.host.ready;
    member.state = 'reading';
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
  #release(member: PoolMember | null): null {
    if (member === null || member.host.isEnding) return null;
    this.#members.delete(member);
    member.state = 'serving';
    this.#options.onDone(member);
    if (this.#options.stock.room < 0) this.#options.stock.evict(1);
    return null;
  }
}

const settleLoad = (load: HostLoad): Discovered =>
  load.kind === 'refused' ? { kind: 'broken', reason: 'its process did not start loading it' } : load;
