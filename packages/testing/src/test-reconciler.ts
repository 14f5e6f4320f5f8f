import { createDueIndex } from '@recourse/background/jobs/due-index';
import { createApply } from '@recourse/decide/apply-verdict';
import { type Checked, createChecks } from '@recourse/decide/checks';
import { EffectStore } from '@recourse/decide/effects/effect-store';
import { Looker } from '@recourse/decide/looker';
import { createReconciler } from '@recourse/decide/reconciler';
import type { CreateCallLog } from 'recourse-server/executor/call-context';
import type { RunHosted } from 'recourse-server/executor/deadline';
import type { IdempotencyStore } from 'recourse-server/executor/idempotency-store';
import type { Reconciler } from 'recourse-server/executor/reconciler';
import type { Redactor } from 'recourse-server/executor/redactor';
import type { SessionStore } from 'recourse-server/executor/session-store';
import type { RecordStore } from 'recourse-server/store/record-store';
import { NO_SEALING } from 'recourse-server/store/seals';
import type { ToolRegistry } from 'recourse-server/tools/registry';
import type { ExecutorClock } from './test-clock.ts';
import type { SoughtEffect, TestVerdict } from './tester.ts';

type Options = {
  readonly clock: ExecutorClock;
  readonly registry: ToolRegistry;
  /** By Unix milliseconds. */
  readonly records: RecordStore;
  readonly keys: IdempotencyStore;
  readonly sessions: SessionStore;
  readonly redactor: Redactor;
  readonly createLog: CreateCallLog;
  readonly runHosted: RunHosted;
  /** In milliseconds, as RECONCILE_DELAYS. */
  readonly delays: readonly number[];
  readonly maxResultBytes: number;
};

export type TestReconciler = Reconciler & {
  /** Asks the `reconcile` of a tool alone. Throws where it has none. */
  readonly ask: (tool: string, input: Readonly<Record<string, unknown>>, sought: SoughtEffect) => Promise<TestVerdict>;
  readonly close: () => void;
};

const NO_LIMITS = { ofHolder: Number.POSITIVE_INFINITY, ofAll: Number.POSITIVE_INFINITY } as const;

/** The reconciler of a service on records in memory, by the clock of a test. What it finds fault with is written into the log of the tool. */
export const createTestReconciler = (options: Options): TestReconciler => {
  const { clock, registry, records, redactor, createLog, delays } = options;
  const { moment: now, startTimer, every, startPause } = clock;
  const live = createDueIndex({ limits: NO_LIMITS, now });
  const effects = new EffectStore({ store: records, live, sealing: NO_SEALING });
  const findCheck = createChecks({ ...options, now, startTimer });
  const logOf = (tool: string) => createLog({ requestId: '', tool, callId: null });
  const looker = new Looker({
    ...{ delays, redactor, looked: () => undefined },
    onProblem: ({ tool, problem }) => logOf(tool).warn('reconcile failed: it counts as unclear', { problem }),
  });
  const reconciler = createReconciler({
    ...{ effects, looker, findCheck, now, every, time: records.now },
    // Records in memory do not fail: this is a bug, and no test may pass over it.
    onFailed: (error) => queueMicrotask(() => throwOn(error)),
    onContradiction: ({ tool, effectId }) => {
      looker.distrust(tool);
      logOf(tool).error('a write ended otherwise than its reconcile had said', { effectId });
    },
    apply: createApply({
      ...{ ...options, effects, time: records.now },
      settlePending: async () => true,
      webhooks: { emit: async () => undefined },
      settleGrant: async () => undefined,
      onApplied: () => undefined,
    }),
  });
  return {
    ...reconciler,
    settle: (write, unknown) =>
      reconciler.settle(write, { ...unknown, cancellation: withPauses(unknown.cancellation, startPause) }),
    ask: async (tool, input, { effectId, startedAt = clock.now() }) => {
      const check = findCheck(tool);
      if (check === null)
        throw new Error(`There is no write tool '${tool}' with a reconcile: ${listReconciling(registry)}.`);
      const about = { tenant: 'anonymous', caller: null, requestId: '', sessionKey: null, id: null };
      return describeVerdict(await check.run({ ...about, tool, input, effectId, startedAt }, check.timeoutMs));
    },
  };
};

const throwOn = (error: unknown): never => {
  throw error;
};

type Cancellation = Parameters<Reconciler['settle']>[1]['cancellation'];

/** The same, and its timers are pauses: nobody has to wait for the next look. */
const withPauses = (cancellation: Cancellation, startTimer: Cancellation['startTimer']): Cancellation => ({
  causeAt: (moment) => cancellation.causeAt(moment),
  onCancel: (listener) => cancellation.onCancel(listener),
  remainingAt: (moment) => cancellation.remainingAt(moment),
  startTimer,
});

const listReconciling = (registry: ToolRegistry): string => {
  const names = registry.list().flatMap(({ name, reconcileTimeoutMs }) => (reconcileTimeoutMs === null ? [] : [name]));
  return names.length === 0 ? 'this tester has none' : `this tester has ${names.join(', ')}`;
};

const describeVerdict = ({ found, problem }: Checked): TestVerdict => {
  if (found.kind === 'unclear')
    return { verdict: 'unclear', value: null, message: '', retryAfterMs: found.retryAfterMs, problem };
  const { verdict, valueJson, message } = found.end;
  const value: unknown = JSON.parse(valueJson);
  return { verdict, value, message, retryAfterMs: null, problem: found.end.problem };
};
