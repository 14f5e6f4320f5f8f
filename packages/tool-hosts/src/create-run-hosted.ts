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
import { createSlotRequest, NO_PROCESS, PoolMember } from './pool-records.ts';
import type { Blame, HostedCall, HostedEnd, RunningCall } from './tool-host.ts';

// A handler that listens to its signal ends within these, and its process lives on; any other is killed. At the
// deadline nothing more can be gained by waiting; where only the client is gone, a moment to tidy up is worth it.
const GRACE_MS = { TimeoutError: 20, AbortError: 1000 } as const;
// A tool that makes its process unusable with every call ends the host that its next call was just sent to, again and again.
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

/** Runs hosted calls on a pool: waits for a slot, keeps the time, ends what does not end, and explains every death. */
export const createRunHosted =
  (options: RunHostedOptions): RunHosted =>
  async (tool, input, terms) => {
    const run = new HostedRun(createCall(tool, input, terms), terms, options);
    for (;;) {
      // Each time with all its time, unless its handler had begun: waiting for a process is not what its limit is for.
      const end = await run.runInOne();
      if (end !== ELSEWHERE) return end;
      await run.pause();
    }
  };

/** Another host is to run the call: its handler has not run, or it may run twice. */
const ELSEWHERE: RunOutcome = { kind: 'threw', thrown: null };

type Unfinished = Exclude<HostedEnd, { kind: 'ended' }>;

/** One call and the hosts that it is sent to: it waits for a slot, runs, and may have to go on to the next host. */
class HostedRun {
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
  /** The call was answered without its host. */
  #isStopped = false;

  constructor(call: HostedCall, terms: HostedTerms, options: RunHostedOptions) {
    this.#call = call;
    this.#terms = terms;
    this.#options = options;
    this.#isAlone = options.pool.isAlone(call.tool);
  }

  /** A host that has loaded the file and has a slot takes the call at once; else it waits for one. */
  async runInOne(): Promise<RunOutcome> {
    const { pool, now, onWaited } = this.#options;
    const { tool } = this.#call;
    const from = now();
    const over = this.#terms.cancellation.causeAt(from);
    if (over !== null) return endWith(explainGivenUp(over, tool));
    const free = pool.tryAcquire(tool.file, createSlotRequest(tool, this.#isAlone));
    const member = free ?? (await this.#waitForSlot());
    if (!(member instanceof PoolMember)) return endWith(member);
    onWaited(free === null ? now() - from : 0);
    return this.#runIn(member);
  }

  /** Where host after host does not take it, what keeps them from it may be over in a while. */
  async pause(): Promise<void> {
    this.#isAlone ||= this.#options.pool.isAlone(this.#call.tool);
    if (this.#moves > FREE_MOVES) await sleep(Math.min(LONGEST_PAUSE_MS, 2 ** (this.#moves - FREE_MOVES)));
  }

  #waitForSlot(): Promise<PoolMember | Failure> {
    const { tool } = this.#call;
    return new Promise((resolve) => {
      const unsubscribe = this.#terms.cancellation.onCancel((cause) => {
        stopWaiting();
        resolve(explainGivenUp(cause, tool));
      });
      const stopWaiting = this.#options.pool.acquire(tool.file, {
        ...createSlotRequest(tool, this.#isAlone),
        take: (member) => {
          unsubscribe();
          resolve(member);
        },
        fail: (reason, retryAfterMs) => {
          unsubscribe();
          resolve(explainNotRun(tool, new Error(reason), retryAfterMs));
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
    const work = call.end.then((end) => {
      if (end.kind !== 'died') pool.release(member, end.kind === 'ended' ? 'answered' : 'moved');
      return this.#decideEnd(end, now() - sentAt);
    });
    const leftMs = Math.min(timeoutMs - this.#spentMs, Math.ceil(cancellation.remainingAt(sentAt)));
    return raceDeadline(work, tool, {
      timeoutMs: Math.max(1, leftMs),
      cancellation,
      context: { abort: (reason) => this.#stop(member, call, work, reason) },
    });
  }

  /** Aborts the handler's signal, and has its process end unless it ends by itself. */
  #stop(member: PoolMember, call: RunningCall, work: Promise<unknown>, { name }: Error): void {
    const reason = name === 'TimeoutError' ? 'TimeoutError' : 'AbortError';
    this.#isStopped = true;
    member.host.abort(call, reason);
    const overdue = reason === 'TimeoutError' ? 'timeout' : 'abort';
    const timer = setTimeout(() => this.#options.pool.endOverdue(member, call, overdue), GRACE_MS[reason]);
    void work.finally(() => clearTimeout(timer));
  }

  /** What came of the call in its host; null where it was answered before. */
  #decideEnd(end: HostedEnd, tookMs: number): RunOutcome | null {
    if (end.kind === 'ended') return end;
    if (end.kind === 'moved') this.#moves += 1;
    else this.#lostHosts += 1;
    if (this.#isStopped) return null;
    if (!end.began) return this.#decideUnbegun(end);
    if (!this.#mayRunAgain(end)) return this.#endUnfinished(end);
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

  #decideUnbegun(end: Unfinished): RunOutcome {
    const mayGoOn = end.kind === 'moved' ? this.#moves <= MOST_MOVES : this.#lostHosts < MOST_LOST_HOSTS;
    const isOver = end.kind === 'died' && end.death.killedFor === 'shutdown';
    return mayGoOn && !isOver ? ELSEWHERE : this.#endUnfinished(end);
  }

  #endUnfinished(end: Unfinished): RunOutcome {
    const { tool } = this.#call;
    if (end.kind === 'moved')
      return this.#moves <= MOST_MOVES
        ? ELSEWHERE
        : endWith(explainNotRun(tool, new Error('no process has started it')));
    const { death, began, blame } = end;
    const thrown = createDeathError(death);
    if (death.killedFor === 'shutdown') return endWith(toFailure('cancelled', cutOffText(tool), tool, { thrown }));
    if (!began) return endWith(explainNotRun(tool, thrown));
    const code = blame === 'other' || blame === 'any' ? 'interrupted' : classifyDeath(death);
    return endWith(toFailure(code, explainDeath(code, blame, tool), tool, { thrown }));
  }
}

const endWith = (failure: Failure): RunOutcome => ({ kind: 'ended', outcome: failed(failure) });

const createCall = (
  tool: HostedTool,
  input: Readonly<Record<string, unknown>>,
  { context, graceful, timeoutMs, purpose = 'run' }: HostedTerms,
): HostedCall => {
  const { session, tenant, caller, callId, retriesLeft, idempotencyKey, effectId, traceparent } = context;
  return {
    tool,
    input,
    terms: {
      session,
      tenant,
      caller,
      callId,
      retriesLeft,
      timeoutMs,
      idempotencyKey,
      effectId,
      traceparent,
      graceful,
      purpose,
      isSought: tool.effects === 'write' && (tool.reconcileTimeoutMs !== null || tool.reconcileBy !== null),
    },
    log: () => context.log,
    progress: context.progress,
    part: context.showsParts ? context.part : null,
  };
};

const explainGivenUp = (cause: CancelCause, tool: HostedTool): Failure =>
  cause === 'deadline' ? toFailure('overloaded', OVERLOADED_TEXT, tool) : explainNotStarted(cause);

/** `retryAfterMs`: when its process is started again; 0 = at the next call. */
const explainNotRun = (tool: HostedTool, thrown: Error, retryAfterMs = 0): Failure => {
  if (thrown.message === NO_PROCESS)
    return toFailure('overloaded', shortageText(tool, 'processes', 'no'), tool, { retryAfterMs, thrown });
  const seconds = Math.ceil(retryAfterMs / 1000);
  const when = seconds === 0 ? 'later' : `in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}`;
  const text = `Tool '${tool.name}' was not run: its process does not start. Try again ${when}, or use another tool.`;
  return toFailure('tool_crashed', text, tool, {
    executed: 'no',
    outcome: 'retry',
    retryAfterMs: retryAfterMs === 0 ? null : Math.ceil(retryAfterMs),
    thrown,
  });
};

const explainDeath = (code: FailureCode, blame: Blame, tool: HostedTool): string => {
  const [what, hint] = describeDeath(code, blame, tool);
  const next = isSafe(tool)
    ? `It is safe to call it again${hint}.`
    : 'It may or may not have taken effect. Check before calling it again.';
  return `${what} ${next}`;
};

const describeDeath = (
  code: FailureCode,
  blame: Blame,
  { name }: HostedTool,
): readonly [what: string, hint: string] => {
  if (code === 'out_of_memory') return [`Tool '${name}' ran out of memory.`, '; ask for less'];
  if (code !== 'interrupted') return [`Tool '${name}' crashed while running.`, '; other arguments may help'];
  // Which tool that was stays in the log: it may be one that this caller must not know of.
  const who = blame === 'other' ? 'another call in it' : 'one of the calls in it; which one is not known';
  return [`The process in which '${name}' was running was ended by ${who}.`, ''];
};
