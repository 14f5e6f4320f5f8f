import type { HostedTool } from '../../tools/tool.ts';
import type { BatchEnd, BatchEndCause } from '../batch-end.ts';
import { failed } from '../call-end.ts';
import { toNotStarted } from '../execute-call.ts';
import { type Failure, toFailure } from '../failure.ts';
import { cutOffText, OVERLOADED_TEXT } from '../failure-text.ts';
import { raceDeadline } from '../race-deadline.ts';
import type { RunEnd } from '../run-end.ts';
import type { HostedTerms, RunHosted } from '../run-hosted.ts';
import { classifyDeath, toDeathError } from './classify-death.ts';
import type { PoolMember } from './file-hosts.ts';
import type { HostPool } from './host-pool.ts';
import { crashedText, notStartedText, outOfMemoryText } from './host-texts.ts';
import type { Death } from './isolation-observer.ts';
import type { HostedCall, HostedEnd } from './tool-host.ts';

// A handler that listens to its signal ends within these, and its process lives on; any other is killed. At the
// deadline nothing more can be gained by waiting; where only the client is gone, a moment to tidy up is worth it.
const GRACE_MS = { TimeoutError: 20, AbortError: 1000 } as const;

type Obtained = { readonly member: PoolMember } | { readonly failure: Failure };

/** Runs hosted calls on a pool: waits for a host, keeps the time, kills what does not end, and names every death. */
export const createRunHosted = (options: {
  readonly pool: HostPool;
  readonly now: () => number;
  /** A call had to wait this long for a process. */
  readonly onWaited: (waitedMs: number) => void;
}): RunHosted => {
  const { pool, now } = options;
  return async (tool, input, terms) => {
    const askedAt = now();
    const obtainHost = (): Promise<Obtained> => obtain(pool, tool, terms.end, now);
    const obtained = await obtainHost();
    if ('failure' in obtained) return { kind: 'ended', end: failed(obtained.failure) };
    options.onWaited(now() - askedAt);
    const running: Running = { member: obtained.member, isStopped: false };
    const work = runIn(pool, running, toCall(tool, input, terms), obtainHost);
    const timeoutMs = Math.max(1, Math.min(terms.timeoutMs, Math.ceil(terms.end.remainingAt(now()))));
    return raceDeadline(work, tool, {
      timeoutMs,
      end: terms.end,
      context: { abort: (reason) => stop(running, work, reason) },
    });
  };
};

const obtain = (pool: HostPool, tool: HostedTool, end: BatchEnd, now: () => number): Promise<Obtained> =>
  new Promise((resolve) => {
    const giveUp = (cause: BatchEndCause): void => {
      const overloaded = toFailure('overloaded', OVERLOADED_TEXT, tool);
      resolve({ failure: cause === 'deadline' ? overloaded : toNotStarted(cause) });
    };
    const over = end.causeAt(now());
    if (over !== null) {
      giveUp(over);
      return;
    }
    const unsubscribe = end.onEnd((cause) => {
      stopWaiting();
      giveUp(cause);
    });
    const stopWaiting = pool.obtain(tool.file, {
      take: (member) => {
        unsubscribe();
        resolve({ member });
      },
      fail: (reason, retryAfterMs) => {
        unsubscribe();
        resolve({ failure: toNotRun(tool, new Error(reason), retryAfterMs) });
      },
    });
  });

const toNotRun = (tool: HostedTool, thrown: Error, retryAfterMs: number): Failure =>
  toFailure('tool_crashed', notStartedText(tool, Math.ceil(retryAfterMs / 1000)), tool, {
    executed: 'no',
    outcome: 'retry',
    retryAfterMs: retryAfterMs === 0 ? null : Math.ceil(retryAfterMs),
    thrown,
  });

type Running = {
  member: PoolMember;
  /** The call has been answered without it. */
  isStopped: boolean;
};

/** What came of the call in its host; null where the host was ended after the call had been answered. */
const runIn = async (
  pool: HostPool,
  running: Running,
  call: HostedCall,
  obtainAnother: () => Promise<Obtained>,
): Promise<RunEnd | null> => {
  const first = await runOnce(pool, running.member, call);
  if (first.kind === 'ended' || first.began || !isReplaceable(first.death)) return toRunEnd(first, call.tool);
  // The host had ended before it heard of the call: its handler has not run, so another host may run it.
  const obtained = await obtainAnother();
  if ('failure' in obtained) return { kind: 'ended', end: failed(obtained.failure) };
  if (running.isStopped) {
    pool.giveBack(obtained.member);
    return null;
  }
  running.member = obtained.member;
  return toRunEnd(await runOnce(pool, obtained.member, call), call.tool);
};

const isReplaceable = ({ killedFor }: Death): boolean => killedFor === null || killedFor === 'recycle';

const runOnce = async (pool: HostPool, member: PoolMember, call: HostedCall): Promise<HostedEnd> => {
  const ran = await member.host.run(call);
  if (ran.kind === 'ended') pool.giveBack(member);
  return ran;
};

const toRunEnd = (ran: HostedEnd, tool: HostedTool): RunEnd | null =>
  ran.kind === 'ended' ? { kind: 'ended', end: ran.end } : toDeathEnd(ran.death, ran.began, tool);

const toCall = (
  tool: HostedTool,
  input: Readonly<Record<string, unknown>>,
  { context, graceful }: HostedTerms,
): HostedCall => ({
  tool,
  input,
  graceful,
  session: context.session,
  callId: context.callId,
  retriesLeft: context.retriesLeft,
  log: () => context.log,
  progress: context.progress,
});

const toDeathEnd = (death: Death, began: boolean, tool: HostedTool): RunEnd | null => {
  const { killedFor } = death;
  if (killedFor === 'timeout' || killedFor === 'abort') return null;
  const thrown = toDeathError(death);
  if (killedFor === 'shutdown')
    return { kind: 'ended', end: failed(toFailure('cancelled', cutOffText(tool), tool, { thrown })) };
  if (!began) return { kind: 'ended', end: failed(toNotRun(tool, thrown, 0)) };
  const code = classifyDeath(death);
  const message = code === 'out_of_memory' ? outOfMemoryText(tool) : crashedText(tool);
  return { kind: 'ended', end: failed(toFailure(code, message, tool, { thrown })) };
};

/** Tells the handler that nobody waits, and ends its process group unless it ends by itself. */
const stop = (running: Running, work: Promise<unknown>, { name }: Error): void => {
  const reason = name === 'TimeoutError' ? 'TimeoutError' : 'AbortError';
  running.isStopped = true;
  running.member.host.abort(reason);
  const timer = setTimeout(
    () => running.member.host.kill(reason === 'TimeoutError' ? 'timeout' : 'abort'),
    GRACE_MS[reason],
  );
  void work.finally(() => clearTimeout(timer));
};
