import { readMonotonicMs } from './host-messages.ts';
import type { HostPool } from './host-pool.ts';
import type { PoolMember } from './pool-records.ts';
import type { ProcessTable } from './process-table.ts';
import type { RunningCall } from './tool-host.ts';

const LOOK_EVERY_MS = 100;
// Between calls a host that has grown this much is replaced before it fails one.
const GROWN = 0.8;
// A handler that gives way to others does so within milliseconds.
const SILENT_MS = 250;
// Where the system does not tell how long a host has waited for a processor.
const UNKNOWN_WAIT_FACTOR = 3;
// A message that a call has begun in time is read by then.
const HEARD_MS = 50;

/** What a host had said and waited for when it was asked for a sign of life. */
type Ping = { readonly at: number; readonly waitedMs: number | null };

/** Looks at hosts ten times a second: at their memory, whether those that are busy still answer, and who waits for one. */
export class HostWatch {
  readonly #pool: HostPool;
  readonly #maxBytes: number;
  readonly #processes: ProcessTable;
  readonly #pings = new WeakMap<PoolMember, Ping>();
  readonly #timer: NodeJS.Timeout;
  #lookedAt = readMonotonicMs();

  constructor(pool: HostPool, memoryMb: number, processes: ProcessTable) {
    this.#pool = pool;
    this.#maxBytes = memoryMb * 1_048_576;
    this.#processes = processes;
    this.#timer = setInterval(() => {
      const now = readMonotonicMs();
      // What hosts have said up to this moment is read first.
      setImmediate(() => this.#look(now));
    }, LOOK_EVERY_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(now: number): void {
    // Where this process itself was held up, what hosts said meanwhile has not been read.
    const isLate = now - this.#lookedAt > 2 * LOOK_EVERY_MS;
    this.#lookedAt = now;
    for (const member of this.#pool.members) {
      if (member.state === 'starting' || member.host.isEnding) continue;
      this.#endLarge(member);
      if (!isLate) this.#askForLife(member, now);
    }
    this.#pool.serve();
  }

  /** Ends hosts that hold more memory than they may: a heap has a limit of its own, buffers have none. */
  #endLarge({ host, phase }: PoolMember): void {
    const bytes = this.#processes.residentBytes(host.pid);
    if (phase === 'busy' && bytes > this.#maxBytes) host.kill('memory');
    // One that is large from the start would only be followed by another.
    if (phase === 'idle' && bytes > this.#maxBytes * GROWN && host.answered > 0) host.kill('growth');
  }

  #askForLife(member: PoolMember, now: number): void {
    const { host } = member;
    const last = this.#pings.get(member);
    const hasAnswered = last === undefined || host.heardAt >= last.at;
    if (hasAnswered && member.state === 'silent') this.#pool.reopen(member);
    if (host.calls.size === 0) {
      this.#pings.delete(member);
      return;
    }
    const waitedMs = this.#processes.waitedMs(host.pid);
    if (hasAnswered) {
      this.#pings.set(member, { at: now, waitedMs });
      host.ping();
    } else if (isSilent(now - last.at, last.waitedMs, waitedMs)) this.#endSilence(member, now);
  }

  /** A host's event loop is blocked: who can run elsewhere does, and the tool that blocks it runs alone from now on. */
  #endSilence(member: PoolMember, now: number): void {
    const { host } = member;
    if (member.state === 'serving' || member.state === 'draining') member.state = 'silent';
    if (member.assigned !== null) member.assigned.isDangerous = true;
    const begun = [...host.calls].filter(({ began }) => began);
    if (begun.length === 0 || begun.some(({ isOverdue }) => isOverdue)) {
      // What blocks it is over its time, or was left by a call that has been answered.
      host.kill(begun.length === 0 ? 'recycle' : 'timeout');
      return;
    }
    this.#moveAway(member, begun, now);
    if (host.calls.size === 0) host.kill('recycle');
  }

  #moveAway(member: PoolMember, begun: readonly RunningCall[], now: number): void {
    const { host } = member;
    // Of several that have begun it is not known which one blocks: each runs again, alone.
    const blocker = begun.length === 1 ? begun[0] : undefined;
    const others = [...host.calls].filter((call) => call !== blocker);
    if (others.length === 0) return;
    for (const { tool } of begun) this.#pool.noteBlock(tool);
    for (const call of others.filter((other) => canLeave(other, now))) {
      // It may go on here: when the others have ended, so does this host.
      member.state = 'left';
      host.leave(call);
    }
  }
}

// A machine that is busy with something else is not the host's fault.
const isSilent = (ms: number, waitedBefore: number | null, waited: number | null): boolean =>
  waitedBefore === null || waited === null
    ? ms >= UNKNOWN_WAIT_FACTOR * SILENT_MS
    : ms - (waited - waitedBefore) >= SILENT_MS;

const canLeave = ({ began, mayRunTwice, beginBy }: RunningCall, now: number): boolean =>
  mayRunTwice || (!began && beginBy !== null && now > beginBy + HEARD_MS);
