import { availableParallelism } from 'node:os';
import type { Death } from './isolation-observer.ts';
import {
  chooseVictim,
  countEnding,
  countWhere,
  createMember,
  type HostedFile,
  type PoolMember,
} from './pool-records.ts';
import type { ToolHost } from './tool-host.ts';

export type StockSettings = {
  /** Starts a process that has what this file and those of its group are granted; null where the system gives none. */
  readonly startHost: (hosted: HostedFile) => ToolHost | null;
  readonly minHosts: number;
  readonly maxHosts: number;
  readonly now: () => number;
};

type StockListener = {
  /** The process of this host is up. */
  readonly onReady: (member: PoolMember) => void;
  /** It did not come up; it is ending. */
  readonly onBroken: (member: PoolMember, reason: string) => void;
  /** It has become spent, restless or quiet. */
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

  hasRoom(): boolean {
    const countStarting = (): number => countWhere(this.members, ({ phase }) => phase === 'starting');
    return !this.isFull() && countStarting() < MAX_STARTING;
  }

  /** Whether there are as many as keep the processors busy: more are only for files whose calls wait for something else. */
  isAmple(): boolean {
    return this.members.size >= AMPLE;
  }

  isFull(): boolean {
    return this.members.size >= this.#settings.maxHosts;
  }

  isOverfull(): boolean {
    return this.members.size > this.#settings.maxHosts;
  }

  isShort(): boolean {
    return this.members.size < this.#settings.minHosts;
  }

  has(group: string): boolean {
    return countWhere(this.members, (member) => member.group === group) > 0;
  }

  hasLiving(group: string): boolean {
    return countWhere(this.members, (member) => member.group === group && !member.host.isEnding) > 0;
  }

  countStarting(group: string): number {
    return countWhere(
      this.members,
      (member) => member.phase === 'starting' && member.group === group && !member.host.isEnding,
    );
  }

  /** A host for the group of this file; null where the system gives no process. */
  start(hosted: HostedFile): PoolMember | null {
    const host = this.isClosing ? null : this.#settings.startHost(hosted);
    if (host === null) return null;
    const now = this.#settings.now();
    const member = createMember(host, hosted.toGroup(now), hosted.hasOwnHosts(now) ? hosted : null, now);
    this.members.add(member);
    host.onState(() => this.#listener.onState(member));
    void host.ready.then((problem) => {
      if (problem === null) this.#listener.onReady(member);
      else {
        host.kill('surplus');
        this.#listener.onBroken(member, problem);
      }
    });
    void host.ended.then((death) => {
      this.members.delete(member);
      this.#listener.onEnded(member, death);
      if (this.members.size === 0) for (const resolve of this.#whenEmpty.splice(0)) resolve();
    });
    return member;
  }

  /** Ends an idle host where `missing` more are wanted than are about to make room. */
  makeRoom(missing: number): void {
    if (this.isFull() && missing > countEnding(this.members)) chooseVictim(this.members)?.host.kill('surplus');
  }

  /** Ends what has been idle for long, down to those that are to be kept warm; of single files' hosts all. */
  tidy(): void {
    let spare = this.members.size - this.#settings.minHosts;
    for (const member of this.members) {
      const isOld = member.phase === 'idle' && this.#settings.now() - member.since > IDLE_MS;
      if (!isOld || member.host.isEnding || (spare <= 0 && member.owner === null)) continue;
      member.host.kill('surplus');
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
