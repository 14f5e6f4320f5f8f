import { setTimeout as sleep } from 'node:timers/promises';
import type { FailureCode } from 'recourse-server/contract/failure';
import { type Failure, failed, toFailure } from 'recourse-server/executor/call-outcome';
import {
  type CancelCause,
  type HostedTerms,
  type RunHosted,
  type RunOutcome,
  raceDeadline,
} from 'recourse-server/executor/deadline';
import { cutOffText, explainNotStarted, OVERLOADED_TEXT, shortageText } from 'recourse-server/executor/failure-text';
import { type HostedTool, isSafe } from 'recourse-server/tools/tool';
import { classifyDeath, createDeathError } from './classify-death.ts';
import type { HostPool } from './host-pool.ts';
import { createSlotRequest, NO_PROCESS, type PoolMember } from './pool-records.ts';
import type { Blame, HostedCall, HostedEnd, RunningCall } from './tool-host.ts';

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

type RunHostedOptions = {
  readonly pool: HostPool;
  readonly now: () => number;
  /** A call had to wait this long for a process. */
  readonly onWaited: (waitedMs: number) => void;
};

/** Runs hosted calls on a pool: waits for a slot, keeps the time, ends what does not end, and names every death. */
export const createRunHosted =
  (options: RunHostedOptions): RunHosted =>
  async (tool, input, terms) => {
    const journey = new Journey(toCall(tool, input, terms), terms, options);
    for (;;) {
      // Each time with all its time, unless its handler had begun: waiting for a process is not what its limit is for.
      const end = await journey.runInOne();
      if (end !== ELSEWHERE) return end;
      await journey.pause();
    }
  };

/** Another host is to run the call: its handler has not run, or it may run twice. */
const ELSEWHERE: RunOutcome = { kind: 'threw', thrown: null };

type Running = {
  readonly member: PoolMember;
  readonly call: RunningCall;
  /** The call has been answered without it. */
  isStopped: boolean;
};

/** A call on its way through hosts: it waits for a slot, runs, and may have to go on to the next host. */
class Journey {
  readonly #call: HostedCall;
  readonly #terms: HostedTerms;
  readonly #options: RunHostedOptions;
  /** No other call may run beside it. */
  #isAlone: boolean;
  /** Hosts that it was sent to and that ended, or did not begin it. */
  #lostHosts = 0;
  #moves = 0;
  /** Whether its handler had begun and was given up; that is done once. */
  #isSecondRun = false;
  /** What its handler took of its time before. */
  #spentMs = 0;

  constructor(call: HostedCall, terms: HostedTerms, options: RunHostedOptions) {
    this.#call = call;
    this.#terms = terms;
    this.#options = options;
    this.#isAlone = options.pool.isAlone(call.tool);
  }

  /** A host that has loaded the file and has a slot takes the call at once; else it waits for one. */
  async runInOne(): Promise<RunOutcome> {
    const { pool, now, onWaited } = this.#options;
    const from = now();
    const isOver = this.#terms.cancellation.causeAt(from) !== null;
    const member = isOver
      ? null
      : pool.tryAcquire(this.#call.tool.file, createSlotRequest(this.#call.tool, this.#isAlone));
    if (member !== null) {
      onWaited(0);
      return this.#runIn(member);
    }
    const obtained = await this.#obtain();
    if ('failure' in obtained) return { kind: 'ended', outcome: failed(obtained.failure) };
    onWaited(now() - from);
    return this.#runIn(obtained.member);
  }

  /** Where host after host does not take it, what keeps them from it may be over in a while. */
  async pause(): Promise<void> {
    this.#isAlone ||= this.#options.pool.isAlone(this.#call.tool);
    if (this.#moves > FREE_MOVES) await sleep(Math.min(LONGEST_PAUSE_MS, 2 ** (this.#moves - FREE_MOVES)));
  }

  #obtain(): Promise<{ readonly member: PoolMember } | { readonly failure: Failure }> {
    const { pool, now } = this.#options;
    const { tool } = this.#call;
    const { cancellation } = this.#terms;
    const toGivenUp = (cause: CancelCause): Failure =>
      cause === 'deadline' ? toFailure('overloaded', OVERLOADED_TEXT, tool) : explainNotStarted(cause);
    const over = cancellation.causeAt(now());
    if (over !== null) return Promise.resolve({ failure: toGivenUp(over) });
    return new Promise((resolve) => {
      const unsubscribe = cancellation.onCancel((cause) => {
        stopWaiting();
        resolve({ failure: toGivenUp(cause) });
      });
      const stopWaiting = pool.acquire(tool.file, {
        ...createSlotRequest(tool, this.#isAlone),
        take: (member) => {
          unsubscribe();
          resolve({ member });
        },
        fail: (reason, retryAfterMs) => {
          unsubscribe();
          const thrown = new Error(reason);
          resolve({
            failure:
              reason === NO_PROCESS
                ? toFailure('overloaded', shortageText(tool, 'processes', 'no'), tool, { retryAfterMs, thrown })
                : toNotRun(tool, thrown, retryAfterMs),
          });
        },
      });
    });
  }

  #runIn(member: PoolMember): Promise<RunOutcome> {
    const { pool, now } = this.#options;
    const { cancellation, timeoutMs } = this.#terms;
    const { tool } = this.#call;
    const sentAt = now();
    const call = member.host.run(this.#call, pool.versionOf(tool.file), BEGIN_WITHIN_MS[this.#moves] ?? null);
    const running: Running = { member, call, isStopped: false };
    const work = call.end.then((end) => {
      if (end.kind !== 'died') pool.release(member, end.kind === 'ended' ? 'answered' : 'moved');
      return this.#toRunEnd(end, running, now() - sentAt);
    });
    const leftMs = Math.min(timeoutMs - this.#spentMs, Math.ceil(cancellation.remainingAt(sentAt)));
    return raceDeadline(work, tool, {
      timeoutMs: Math.max(1, leftMs),
      cancellation,
      context: { abort: (reason) => stop(pool, running, work, reason) },
    });
  }

  /** What came of the call in its host; null where there is nothing to say any more, for it has been answered. */
  #toRunEnd(end: HostedEnd, running: Running, tookMs: number): RunOutcome | null {
    if (end.kind === 'ended') return end;
    if (end.kind === 'moved') this.#moves += 1;
    else this.#lostHosts += 1;
    if (running.isStopped) return null;
    if (!end.began || !this.#mayRunAgain(end)) return this.#toUnfinishedEnd(end);
    this.#isSecondRun = true;
    this.#spentMs = tookMs;
    // What ended a host once among others may do so again, and then alone.
    this.#isAlone ||= end.kind === 'died' && end.blame !== 'other';
    return ELSEWHERE;
  }

  /** A call that may run twice, and that others kept from its end; once. */
  #mayRunAgain(end: Unfinished): boolean {
    if (!isSafe(this.#call.tool) || this.#isSecondRun) return false;
    return end.kind === 'moved' || (end.blame !== 'this' && end.death.killedFor !== 'shutdown');
  }

  #toUnfinishedEnd(end: Unfinished): RunOutcome {
    const { tool } = this.#call;
    if (end.kind === 'moved')
      return this.#moves <= MOST_MOVES ? ELSEWHERE : toNotRunEnd(tool, new Error('no process has started it'));
    const hasOthers = this.#lostHosts < MOST_LOST_HOSTS && end.death.killedFor !== 'shutdown';
    return !end.began && hasOthers ? ELSEWHERE : toDeathEnd(end, tool);
  }
}

type Unfinished = Exclude<HostedEnd, { kind: 'ended' }>;

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

const toCall = (
  tool: HostedTool,
  input: Readonly<Record<string, unknown>>,
  { context, graceful, timeoutMs, purpose = 'run' }: HostedTerms,
): HostedCall => ({
  tool,
  input,
  graceful,
  purpose,
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
  part: context.showsParts ? context.part : null,
});

const toDeathEnd = ({ death, began, blame }: Extract<HostedEnd, { kind: 'died' }>, tool: HostedTool): RunOutcome => {
  const thrown = createDeathError(death);
  if (death.killedFor === 'shutdown')
    return { kind: 'ended', outcome: failed(toFailure('cancelled', cutOffText(tool), tool, { thrown })) };
  if (!began) return toNotRunEnd(tool, thrown);
  const code = blame === 'other' || blame === 'any' ? 'interrupted' : classifyDeath(death);
  return { kind: 'ended', outcome: failed(toFailure(code, toDeathText(code, blame, tool), tool, { thrown })) };
};

const toDeathText = (code: FailureCode, blame: Blame, tool: HostedTool): string => {
  if (code === 'interrupted') return interruptedText(tool, blame);
  return code === 'out_of_memory' ? outOfMemoryText(tool) : crashedText(tool);
};

/** Tells the handler that nobody waits, and has its process end unless it ends by itself. */
const stop = (pool: HostPool, running: Running, work: Promise<unknown>, { name }: Error): void => {
  const { member, call } = running;
  const reason = name === 'TimeoutError' ? 'TimeoutError' : 'AbortError';
  running.isStopped = true;
  member.host.abort(call, reason);
  const overdue = reason === 'TimeoutError' ? 'timeout' : 'abort';
  const timer = setTimeout(() => pool.endOverdue(member, call, overdue), GRACE_MS[reason]);
  void work.finally(() => clearTimeout(timer));
};

const UNSURE = 'It may or may not have taken effect. Check before calling it again.';

const crashedText = (tool: HostedTool): string =>
  isSafe(tool)
    ? `Tool '${tool.name}' crashed while running. It is safe to call it again; other arguments may help.`
    : `Tool '${tool.name}' crashed while running. ${UNSURE}`;

// Which tool that was stays in the log: it may be one that this caller must not know of.
const interruptedText = (tool: HostedTool, blame: Blame): string => {
  const who = blame === 'other' ? 'another call in it' : 'one of the calls in it; which one is not known';
  const next = isSafe(tool) ? 'It is safe to call it again.' : UNSURE;
  return `The process in which '${tool.name}' was running was ended by ${who}. ${next}`;
};

const outOfMemoryText = (tool: HostedTool): string =>
  isSafe(tool)
    ? `Tool '${tool.name}' ran out of memory. It is safe to call it again; ask for less.`
    : `Tool '${tool.name}' ran out of memory. ${UNSURE}`;

/** `seconds`: when its process is started again; 0 = at the next call. */
const notStartedText = (tool: HostedTool, seconds: number): string =>
  `Tool '${tool.name}' was not run: its process does not start. Try again ${
    seconds === 0 ? 'later' : `in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}`
  }, or use another tool.`;
