import { availableParallelism } from 'node:os';
import type { Death } from './classify-death.ts';
import type { ToolHost } from './hosted-process.ts';
import { countWhere, findBest, type HostedFile, PoolMember } from './pool-records.ts';

export type StockSettings = {
  /** Starts a process that has what this file and those of its group are granted; null where the system gives none. */
  readonly startHost: (hosted: HostedFile) => ToolHost | null;
  readonly minHosts: number;
  readonly maxHosts: number;
  readonly now: () => number;
};

type StockListener = {
  /** The process of this host is up; or it did not come up, and is ending. */
  readonly onStarted: (member: PoolMember, problem: string | null) => void;
  /** It has become unusable, or has pending work, or has none any more. */
  readonly onState: (member: PoolMember) => void;
  readonly onEnded: (member: PoolMember, death: Death) => void;
};

const IDLE_MS = 30_000;
// Starting is what costs a core; more at a time would only make each one later.
const MAX_STARTING = Math.max(2, availableParallelism());
const AMPLE = Math.max(4, 2 * availableParallelism());

/** The processes there are: as many as may be, started a few at a time, ended where nothing needs them. */
export class HostStock {
  readonly members = new Set<PoolMember>();
  readonly #settings: StockSettings;
  readonly #listener: StockListener;
  readonly #whenEmpty: (() => void)[] = [];
  isClosing = false;

  constructor(settings: StockSettings, listener: StockListener) {
    this.#settings = settings;
    this.#listener = listener;
  }

  /** How many there are beyond those that are to be kept warm. */
  get spare(): number {
    return this.members.size - this.#settings.minHosts;
  }

  /** How many more there may be. */
  get room(): number {
    return this.#settings.maxHosts - this.members.size;
  }

  /** Whether there are as many as keep the processors busy: more are only for files whose calls wait for something else. */
  get isAmple(): boolean {
    return this.members.size >= AMPLE;
  }

  /** Whether another host may start now. */
  get mayStart(): boolean {
    return this.room > 0 && countWhere(this.members, ({ state }) => state === 'starting') < MAX_STARTING;
  }

  countEnding(): number {
    return countWhere(this.members, ({ host }) => host.isEnding);
  }

  countStarting(group: string): number {
    return countWhere(this.living(group), ({ state }) => state === 'starting');
  }

  /** The hosts of a group that are not ending. */
  living(group: string): readonly PoolMember[] {
    return [...this.members].filter((member) => member.group === group && !member.host.isEnding);
  }

  /** Hosts of a group that may run another file than the last one. */
  free(group: string): readonly PoolMember[] {
    const free: PoolMember[] = [];
    for (const member of this.members) if (member.group === group && member.isFree) free.push(member);
    return free;
  }

  /** A host for the group of this file; null where the system gives no process. */
  start(hosted: HostedFile): PoolMember | null {
    const host = this.isClosing ? null : this.#settings.startHost(hosted);
    if (host === null) return null;
    const member = new PoolMember(host, hosted, this.#settings.now());
    this.members.add(member);
    host.onState(() => this.#listener.onState(member));
    void host.ready.then((problem) => {
      if (problem !== null) host.kill('surplus');
      this.#listener.onStarted(member, problem);
    });
    void host.ended.then((death) => {
      this.members.delete(member);
      this.#listener.onEnded(member, death);
      if (this.members.size === 0) for (const resolve of this.#whenEmpty.splice(0)) resolve();
    });
    return member;
  }

  /** Ends an idle host where `missing` more are wanted than are about to make room: one of a single file first, then the oldest. */
  evict(missing: number): void {
    if (this.room > 0 || missing <= this.countEnding()) return;
    const idle = [...this.members].filter(({ state, host }) => state === 'idle' && !host.isEnding);
    const victim = findBest(idle, (member, best) => {
      const [isOwn, bestIsOwn] = [member.owner !== null, best.owner !== null];
      return isOwn === bestIsOwn ? member.since < best.since : isOwn;
    });
    victim?.host.kill('surplus');
  }

  /** Ends what has been idle for long, down to those that are to be kept warm; of single files' hosts all. */
  tidy(): void {
    let { spare } = this;
    for (const { state, since, host, owner } of this.members) {
      const isOld = state === 'idle' && this.#settings.now() - since > IDLE_MS;
      if (!isOld || host.isEnding || (spare <= 0 && owner === null)) continue;
      host.kill('surplus');
      spare -= 1;
    }
  }

  /** Ends all processes at once; none starts any more. */
  killAll(): void {
    this.isClosing = true;
    for (const { host } of this.members) host.kill('shutdown');
  }

  whenEmpty(): Promise<void> {
    return this.members.size === 0 ? Promise.resolve() : new Promise((done) => void this.#whenEmpty.push(done));
  }
}
