import { setTimeout as sleep } from 'node:timers/promises';
import { toNotStarted } from '../executor/admit.ts';
import { failed } from '../executor/call-outcome.ts';
import type { CancelCause, Cancellation, RunOutcome } from '../executor/deadline.ts';
import { raceDeadline } from '../executor/deadline.ts';
import { type Failure, toFailure } from '../executor/failure.ts';
import { cutOffText, OVERLOADED_TEXT } from '../executor/failure-text.ts';
import type { HostedTerms, RunHosted } from '../executor/run-hosted.ts';
import type { HostedTool } from '../tools/tool.ts';
import { classifyDeath, toDeathError } from './classify-death.ts';
import type { HostPool } from './host-pool.ts';
import { crashedText, notStartedText, outOfMemoryText } from './host-texts.ts';
import type { HostedCall } from './hosted-call.ts';
import type { Death } from './isolation-observer.ts';
import type { PoolMember } from './pool-records.ts';
import type { HostedEnd, RunningCall } from './running-call.ts';

// A handler that listens to its signal ends within these, and its process lives on; any other is killed. At the
// deadline nothing more can be gained by waiting; where only the client is gone, a moment to tidy up is worth it.
const GRACE_MS = { TimeoutError: 20, AbortError: 1000 } as const;
// A tool that spoils its process with every call ends the host that its next call was just sent to, again and again.
const MOST_LOST_HOSTS = 5;
// A host that is free begins within a millisecond. One that does not is blocked by another call, or the machine is busy:
// then another host may have the call, and the next one more time. The last one has all it wants.
const BEGIN_WITHIN_MS = [250, 500, 1000, 2000, 4000] as const;

// Each host that refuses a call is not asked again before it is quiet.
const MOST_MOVES = 20;
// After so many a call pauses before it goes on, each time for longer: some 5 s in all.
const FREE_MOVES = 4;
const LONGEST_PAUSE_MS = 500;

/** A call on its way through hosts. */
type Journey = {
  readonly call: HostedCall;
  readonly terms: HostedTerms;
  /** No other call may run beside it. */
  isAlone: boolean;
  /** Hosts that it was sent to and that ended, or did not begin it. */
  lostHosts: number;
  moves: number;
  /** Whether its handler had begun and was given up; that is done once. */
  isSecondRun: boolean;
  /** What its handler took of its time before. */
  spentMs: number;
};

/** Runs hosted calls on a pool: waits for a seat, keeps the time, ends what does not end, and names every death. */
export const createRunHosted = (options: {
  readonly pool: HostPool;
  readonly now: () => number;
  /** A call had to wait this long for a process. */
  readonly onWaited: (waitedMs: number) => void;
}): RunHosted => {
  const { pool, now } = options;
  const runIn = (member: PoolMember, journey: Journey): Promise<RunOutcome> => {
    const { call, terms } = journey;
    const sentAt = now();
    const started = member.host.run(call, pool.versionOf(call.tool.file), BEGIN_WITHIN_MS[journey.moves] ?? null);
    const running: Running = { member, call: started.call, isStopped: false };
    const work = started.end.then((end) => {
      if (end.kind !== 'died') pool.giveBack(member, end.kind === 'ended' ? 'answered' : 'moved');
      return toRunEnd(end, running, journey, now() - sentAt);
    });
    const leftMs = Math.min(terms.timeoutMs - journey.spentMs, Math.ceil(terms.cancellation.remainingAt(sentAt)));
    return raceDeadline(work, call.tool, {
      timeoutMs: Math.max(1, leftMs),
      cancellation: terms.cancellation,
      context: { abort: (reason) => stop(pool, running, work, reason) },
    });
  };
  const runInNext = async (journey: Journey): Promise<RunOutcome> => {
    const askedAt = now();
    const obtained = await obtain(pool, journey, now);
    if ('failure' in obtained) return { kind: 'ended', outcome: failed(obtained.failure) };
    options.onWaited(now() - askedAt);
    return runIn(obtained.member, journey);
  };
  /** A host that has loaded the file and has a seat takes the call at once. */
  const runInOne = (journey: Journey): Promise<RunOutcome> => {
    const { call, terms, isAlone } = journey;
    const isOver = terms.cancellation.causeAt(now()) !== null;
    const member = isOver ? null : pool.takeSeat(call.tool.file, isAlone);
    if (member === null) return runInNext(journey);
    options.onWaited(0);
    return runIn(member, journey);
  };
  return async (tool, input, terms) => {
    const call = toCall(tool, input, terms);
    const isAlone = pool.isAlone(tool);
    const journey: Journey = { call, terms, isAlone, lostHosts: 0, moves: 0, isSecondRun: false, spentMs: 0 };
    for (;;) {
      // Each time with all its time, unless its handler had begun: waiting for a process is not what its limit is for.
      const end = await runInOne(journey);
      if (end !== ELSEWHERE) return end;
      journey.isAlone ||= pool.isAlone(tool);
      // Where host after host does not take it, what keeps them from it may be over in a while.
      if (journey.moves > FREE_MOVES) await sleep(Math.min(LONGEST_PAUSE_MS, 2 ** (journey.moves - FREE_MOVES)));
    }
  };
};

/** Another host is to run the call: its handler has not run, or it may run twice. */
const ELSEWHERE: RunOutcome = { kind: 'threw', thrown: null };

type Obtained = { readonly member: PoolMember } | { readonly failure: Failure };

const obtain = (pool: HostPool, { call, terms, isAlone }: Journey, now: () => number): Promise<Obtained> =>
  new Promise((resolve) => {
    const { tool } = call;
    const { cancellation }: { readonly cancellation: Cancellation } = terms;
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
      isAlone,
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

const toNotRunEnd = (tool: HostedTool, thrown: Error): RunOutcome => ({
  kind: 'ended',
  outcome: failed(toNotRun(tool, thrown, 0)),
});

type Running = {
  readonly member: PoolMember;
  readonly call: RunningCall;
  /** The call has been answered without it. */
  isStopped: boolean;
};

/** What came of the call in its host; null where there is nothing to say any more, for it has been answered. */
const toRunEnd = (end: HostedEnd, running: Running, journey: Journey, tookMs: number): RunOutcome | null => {
  if (end.kind === 'ended') return end;
  if (end.kind === 'moved') journey.moves += 1;
  else journey.lostHosts += 1;
  if (running.isStopped) return null;
  if (!end.began || !mayRunAgain(end, running, journey)) return toUnfinishedEnd(end, journey);
  journey.isSecondRun = true;
  journey.spentMs = tookMs;
  // What ended a host once among others may do so again, and then alone.
  journey.isAlone ||= end.kind === 'died' && end.blame === 'unknown';
  return ELSEWHERE;
};

const toUnfinishedEnd = (end: Unfinished, { call, moves, lostHosts }: Journey): RunOutcome => {
  const { tool } = call;
  if (end.kind === 'moved')
    return moves <= MOST_MOVES ? ELSEWHERE : toNotRunEnd(tool, new Error('no process has begun it'));
  const hasOthers = lostHosts < MOST_LOST_HOSTS && isReplaceable(end.death);
  return !end.began && hasOthers ? ELSEWHERE : toDeathEnd(end.death, end.began, tool);
};

type Unfinished = Exclude<HostedEnd, { kind: 'ended' }>;

/** A call that may run twice, and that others kept from its end; once. */
const mayRunAgain = (
  end: Exclude<HostedEnd, { kind: 'ended' }>,
  { call }: Running,
  { isSecondRun }: Journey,
): boolean => {
  if (!call.mayRunTwice || isSecondRun) return false;
  return end.kind === 'moved' || (end.blame !== 'this' && end.death.killedFor !== 'shutdown');
};

const isReplaceable = ({ killedFor }: Death): boolean => killedFor !== 'shutdown';

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
  tenant: context.tenant,
  caller: context.caller,
  callId: context.callId,
  retriesLeft: context.retriesLeft,
  idempotencyKey: context.idempotencyKey,
  traceparent: context.traceparent,
  log: () => context.log,
  progress: context.progress,
});

const toDeathEnd = (death: Death, began: boolean, tool: HostedTool): RunOutcome => {
  const thrown = toDeathError(death);
  if (death.killedFor === 'shutdown')
    return { kind: 'ended', outcome: failed(toFailure('cancelled', cutOffText(tool), tool, { thrown })) };
  if (!began) return toNotRunEnd(tool, thrown);
  const code = classifyDeath(death);
  const message = code === 'out_of_memory' ? outOfMemoryText(tool) : crashedText(tool);
  return { kind: 'ended', outcome: failed(toFailure(code, message, tool, { thrown })) };
};

/** Tells the handler that nobody waits, and has its process end unless it ends by itself. */
const stop = (pool: HostPool, running: Running, work: Promise<unknown>, { name }: Error): void => {
  const { member, call } = running;
  const reason = name === 'TimeoutError' ? 'TimeoutError' : 'AbortError';
  running.isStopped = true;
  member.host.abort(call, reason);
  const timer = setTimeout(
    () => pool.endOverdue(member, call, reason === 'TimeoutError' ? 'timeout' : 'abort'),
    GRACE_MS[reason],
  );
  void work.finally(() => clearTimeout(timer));
};
