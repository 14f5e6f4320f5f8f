import type { HostPool } from './host-pool.ts';
import type { PoolMember } from './pool-records.ts';
import type { ProcessTable } from './process-table.ts';
import type { RunningCall } from './running-call.ts';

export type HostWatchOptions = {
  readonly pool: HostPool;
  readonly memoryMb: number;
  readonly processes: Pick<ProcessTable, 'residentBytes' | 'waitedMs'>;
  /** Milliseconds of the system's monotonic clock. */
  readonly monotonic: () => number;
};

export type HostWatch = { readonly stop: () => void };

const LOOK_EVERY_MS = 100;
// Between calls a host that has grown this much is replaced before it fails one.
const GROWN = 0.8;
// A handler that gives way to others does so within milliseconds.
const SILENT_MS = 250;
// Where the system does not tell how long a host has waited for a processor.
const PATIENCE = 3;
// What was begun in time is heard by then.
const HEARD_MS = 50;

/** What a host had said and waited for when it was asked for a sign of life. */
type Asked = { readonly at: number; readonly waitedMs: number | null };

/** Looks at hosts ten times a second: at their memory, whether those that are busy still answer, and who waits for one. */
export const watchHosts = (options: HostWatchOptions): HostWatch => {
  const { pool, processes, monotonic } = options;
  const asked = new WeakMap<PoolMember, Asked>();
  let lookedAt = monotonic();
  const look = (now: number): void => {
    // Where this process itself was held up, what hosts said meanwhile has not been read.
    const isLate = now - lookedAt > 2 * LOOK_EVERY_MS;
    lookedAt = now;
    for (const member of pool.members) {
      if (member.phase === 'starting' || member.host.isEnding()) continue;
      endLarge(member, options);
      if (!isLate) askForLife(member, now);
    }
    pool.serve();
  };
  const askForLife = (member: PoolMember, now: number): void => {
    const { host } = member;
    const last = asked.get(member);
    const hasAnswered = last === undefined || host.heardAt() >= last.at;
    if (hasAnswered && member.closedFor === 'silent') pool.reopen(member);
    if (host.calls.size === 0) {
      asked.delete(member);
      return;
    }
    if (hasAnswered) {
      asked.set(member, { at: now, waitedMs: processes.waitedMs(host.pid) });
      host.ping();
      return;
    }
    // A machine that is busy with something else is not the host's fault.
    if (isSilent(now - last.at, last.waitedMs, processes.waitedMs(host.pid))) endSilence(member, now, pool);
  };
  const timer = setInterval(() => {
    const now = monotonic();
    // What hosts have said up to this moment is read first.
    setImmediate(() => look(now));
  }, LOOK_EVERY_MS).unref();
  return { stop: () => clearInterval(timer) };
};

const isSilent = (ms: number, waitedBefore: number | null, waited: number | null): boolean =>
  waitedBefore === null || waited === null ? ms >= PATIENCE * SILENT_MS : ms - (waited - waitedBefore) >= SILENT_MS;

/** A host's event loop is blocked: who can run elsewhere does, and the tool that blocks it runs alone from now on. */
const endSilence = (member: PoolMember, now: number, pool: HostPool): void => {
  const { host } = member;
  const calls = [...host.calls];
  member.closedFor ??= 'silent';
  const begun = calls.filter(({ began }) => began);
  if (begun.length === 0 || begun.some(({ isOverdue }) => isOverdue)) {
    // What blocks it is over its time, or was left by a call that has been answered.
    host.kill(begun.length === 0 ? 'recycle' : 'timeout');
    return;
  }
  moveAway(member, begun, now, pool);
  if (host.calls.size === 0) host.kill('recycle');
};

const moveAway = (member: PoolMember, begun: readonly RunningCall[], now: number, pool: HostPool): void => {
  const { host } = member;
  // Of several that have begun nothing tells which one blocks: each runs again, alone.
  const blocker = begun.length === 1 ? begun[0] : undefined;
  const others = [...host.calls].filter((call) => call !== blocker);
  if (others.length === 0) return;
  for (const { tool } of begun) pool.noteBlock(tool);
  for (const call of others) {
    if (!canLeave(call, now)) continue;
    // It may go on here: when the others have ended, so does this host.
    member.closedFor = 'left';
    call.leave();
  }
};

const canLeave = ({ began, mayRunTwice, beginBy }: RunningCall, now: number): boolean =>
  mayRunTwice || (!began && beginBy !== null && now > beginBy + HEARD_MS);

/** Ends hosts that hold more memory than they may: a heap has a limit of its own, buffers have none. */
const endLarge = ({ host, phase }: PoolMember, { memoryMb, processes }: HostWatchOptions): void => {
  const limit = memoryMb * 1_048_576;
  const bytes = processes.residentBytes(host.pid);
  if (phase === 'busy' && bytes > limit) host.kill('memory');
  // One that is large from the start would only be followed by another.
  if (phase === 'idle' && bytes > limit * GROWN && host.answered() > 0) host.kill('recycle');
};
