import type { RanCall } from './call-end.ts';
import type { ResolvedCall } from './resolve-call.ts';

export type Schedule = {
  readonly order: 'parallel' | 'sequential';
  readonly onError: 'continue' | 'stop';
  /** How many handlers of the batch may run at once. */
  readonly concurrency: number;
  readonly execute: (call: ResolvedCall) => RanCall | Promise<RanCall>;
  /** Ends a call that must not start because the one named `failedName` failed. */
  readonly skip: (call: ResolvedCall, failedName: string) => RanCall;
  /** Ends a call that still waited for a slot when the batch was over. */
  readonly giveUp: (call: ResolvedCall) => RanCall;
  readonly isOver: () => boolean;
  /** Resolves when the batch is over before its calls are. */
  readonly whenOver: () => Promise<void>;
};

/**
 * Runs the calls of a batch: in parallel up to the limit, where a call of a `sequential` tool waits for those before
 * it and holds up those after it; or one by one. Gives each call's end under its index. A slot is free again when the
 * handler really ends, not when it was answered.
 */
export const scheduleCalls = async (
  calls: readonly ResolvedCall[],
  schedule: Schedule,
): Promise<ReadonlyMap<number, RanCall>> => {
  const ends = new Map<number, RanCall>();
  if (schedule.order === 'sequential') await runInOrder(calls, schedule, ends);
  else if (!calls.some(isBarrier)) await runGroup(calls, schedule, ends);
  else for (const group of toGroups(calls)) await runGroup(group, schedule, ends);
  return ends;
};

const runInOrder = async (
  calls: readonly ResolvedCall[],
  schedule: Schedule,
  ends: Map<number, RanCall>,
): Promise<void> => {
  let failedName: string | null = null;
  for (const call of calls) {
    const ran: RanCall = failedName === null ? await schedule.execute(call) : schedule.skip(call, failedName);
    ends.set(call.index, ran);
    if (schedule.onError === 'stop' && ran.end.kind === 'failure') failedName ??= call.name ?? 'an unnamed call';
  }
};

const isBarrier = (call: ResolvedCall): boolean => call.kind === 'ready' && call.tool.sequential;

const toGroups = (calls: readonly ResolvedCall[]): readonly (readonly ResolvedCall[])[] => {
  const groups: ResolvedCall[][] = [[]];
  for (const call of calls) {
    if (isBarrier(call)) groups.push([call], []);
    else groups.at(-1)?.push(call);
  }
  return groups.filter((group) => group.length > 0);
};

const runGroup = async (
  calls: readonly ResolvedCall[],
  schedule: Schedule,
  ends: Map<number, RanCall>,
): Promise<void> => {
  const answers: Promise<void>[] = [];
  const running = new Set<Promise<unknown>>();
  const occupy = (handler: Promise<unknown>): void => {
    const held = handler.finally(() => running.delete(held));
    running.add(held);
  };
  const record = (call: ResolvedCall, ran: RanCall): void => {
    ends.set(call.index, ran);
    if (ran.late !== null) occupy(ran.late);
  };
  for (const call of calls) {
    if (running.size >= schedule.concurrency) await waitForSlot(running, schedule);
    const started = running.size >= schedule.concurrency ? schedule.giveUp(call) : schedule.execute(call);
    if (!(started instanceof Promise)) {
      record(call, started);
      continue;
    }
    const answered = started.then((ran) => record(call, ran));
    occupy(answered);
    answers.push(answered);
  }
  await Promise.all(answers);
};

const waitForSlot = async (running: ReadonlySet<unknown>, schedule: Schedule): Promise<void> => {
  const over = schedule.whenOver();
  while (running.size >= schedule.concurrency && !schedule.isOver()) await Promise.race([...running, over]);
};
