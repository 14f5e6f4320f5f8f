import { toNotStarted } from '../executor/admit.ts';
import { failed } from '../executor/call-outcome.ts';
import type { CancelCause, Cancellation, RunOutcome } from '../executor/deadline.ts';
import { raceDeadline } from '../executor/deadline.ts';
import { type Failure, toFailure } from '../executor/failure.ts';
import { cutOffText, OVERLOADED_TEXT } from '../executor/failure-text.ts';
import type { HostedTerms, RunHosted } from '../executor/run-hosted.ts';
import type { HostedTool } from '../tools/tool.ts';
import { classifyDeath, toDeathError } from './classify-death.ts';
import type { PoolMember } from './file-hosts.ts';
import type { HostPool } from './host-pool.ts';
import { crashedText, notStartedText, outOfMemoryText } from './host-texts.ts';
import type { Death } from './isolation-observer.ts';
import type { HostedEnd } from './running-call.ts';
import type { HostedCall } from './tool-host.ts';

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
  const runInHost = (member: PoolMember, call: HostedCall, terms: HostedTerms, attempt: Attempt) => {
    const running: Running = { member, isStopped: false };
    const work = member.host.run(call).then((ran) => {
      if (ran.kind === 'ended') pool.giveBack(member);
      return toRunEnd(ran, call.tool, running, attempt);
    });
    const timeoutMs = Math.max(1, Math.min(terms.timeoutMs, Math.ceil(terms.cancellation.remainingAt(now()))));
    return raceDeadline(work, call.tool, {
      timeoutMs,
      cancellation: terms.cancellation,
      context: { abort: (reason) => stop(running, work, reason) },
    });
  };
  const runInNext = async (call: HostedCall, terms: HostedTerms, attempt: Attempt): Promise<RunOutcome> => {
    const askedAt = now();
    const obtained = await obtain(pool, call.tool, terms.cancellation, now);
    if ('failure' in obtained) return { kind: 'ended', outcome: failed(obtained.failure) };
    options.onWaited(now() - askedAt);
    return runInHost(obtained.member, call, terms, attempt);
  };
  /** A host that is idle takes the call at once. */
  const runInOne = (call: HostedCall, terms: HostedTerms, attempt: Attempt): Promise<RunOutcome> => {
    const idle = terms.cancellation.causeAt(now()) === null ? pool.takeIdle(call.tool.file) : null;
    if (idle === null) return runInNext(call, terms, attempt);
    options.onWaited(0);
    return runInHost(idle, call, terms, attempt);
  };
  return async (tool, input, terms) => {
    const call = toCall(tool, input, terms);
    for (let host = 1; host < MAX_HOSTS; host += 1) {
      // Each time with all its time: waiting for another process is not what its limit is for.
      const end = await runInOne(call, terms, 'one_of_several');
      if (end !== UNBEGUN) return end;
    }
    return runInOne(call, terms, 'last');
  };
};

/** The host had ended before it heard of the call: its handler has not run, so another host may run it. */
const UNBEGUN: RunOutcome = { kind: 'threw', thrown: null };

type Attempt = 'one_of_several' | 'last';
// A tool that spoils its process with every call ends the host that its next call was just sent to, again and again.
const MAX_HOSTS = 5;

const obtain = (pool: HostPool, tool: HostedTool, cancellation: Cancellation, now: () => number): Promise<Obtained> =>
  new Promise((resolve) => {
    const giveUp = (cause: CancelCause): void => {
      const overloaded = toFailure('overloaded', OVERLOADED_TEXT, tool);
      resolve({ failure: cause === 'deadline' ? overloaded : toNotStarted(cause) });
    };
    const over = cancellation.causeAt(now());
    if (over !== null) {
      giveUp(over);
      return;
    }
    const unsubscribe = cancellation.onCancel((cause) => {
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
const toRunEnd = (ran: HostedEnd, tool: HostedTool, running: Running, attempt: Attempt): RunOutcome | null => {
  if (ran.kind === 'ended') return ran;
  if (ran.began || !isReplaceable(ran.death)) return toDeathEnd(ran.death, ran.began, tool);
  if (running.isStopped) return null;
  return attempt === 'last' ? toDeathEnd(ran.death, ran.began, tool) : UNBEGUN;
};

const isReplaceable = ({ killedFor }: Death): boolean => killedFor === null || killedFor === 'recycle';

const toCall = (
  tool: HostedTool,
  input: Readonly<Record<string, unknown>>,
  { context, graceful, timeoutMs }: HostedTerms,
): HostedCall => ({
  tool,
  input,
  graceful,
  timeoutMs,
  session: context.session,
  callId: context.callId,
  retriesLeft: context.retriesLeft,
  idempotencyKey: context.idempotencyKey,
  traceparent: context.traceparent,
  log: () => context.log,
  progress: context.progress,
});

const toDeathEnd = (death: Death, began: boolean, tool: HostedTool): RunOutcome | null => {
  const { killedFor } = death;
  if (killedFor === 'timeout' || killedFor === 'abort') return null;
  const thrown = toDeathError(death);
  if (killedFor === 'shutdown')
    return { kind: 'ended', outcome: failed(toFailure('cancelled', cutOffText(tool), tool, { thrown })) };
  if (!began) return { kind: 'ended', outcome: failed(toNotRun(tool, thrown, 0)) };
  const code = classifyDeath(death);
  const message = code === 'out_of_memory' ? outOfMemoryText(tool) : crashedText(tool);
  return { kind: 'ended', outcome: failed(toFailure(code, message, tool, { thrown })) };
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
