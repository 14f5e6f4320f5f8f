import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { expect } from 'vitest';
import type { Admission, Round, SessionSettings, SessionStore } from '#src/executor/session-store.ts';
import { findOrders, type Played, replay } from './model-linearization.ts';
import {
  ALL_TOOLS,
  type ModelCall,
  type ModelEnd,
  type ModelTool,
  toKept,
  toReport,
  toRound,
  toTold,
} from './model-rounds.ts';

/** What one replica does while others do something else. */
type Deed =
  | { readonly kind: 'admit'; readonly roundId: string | null; readonly calls: readonly ModelCall[] }
  | { readonly kind: 'settle'; readonly wishes: readonly ModelEnd[] }
  | { readonly kind: 'reset'; readonly tool: ModelTool | null };

type Burst = {
  readonly settings: SessionSettings;
  readonly stores: readonly SessionStore[];
  readonly sessionKey: string;
  readonly pending: { readonly batchId: string; readonly admission: Admission }[];
  /** All that may have happened so far. */
  histories: readonly (readonly Played[])[];
  batches: number;
};

const admit = async (burst: Burst, store: SessionStore, round: Round): Promise<Played> => {
  const admission = await store.admit(round);
  burst.pending.push({ batchId: round.batchId, admission });
  return { kind: 'admit', round, told: toTold(admission, round) };
};

// A batch was told the same in every history that is left: any of them tells how its calls may end.
const settle = (burst: Burst, wishes: readonly ModelEnd[]): Promise<Played> | null => {
  const one = burst.pending.shift();
  const [history] = burst.histories;
  if (one === undefined || history === undefined) return null;
  const { batchId, admission } = one;
  const expected = replay(burst.settings, history).admissions.get(batchId);
  if (expected === undefined) throw new Error('A batch settles that was never let in.');
  const report = toReport(expected, wishes, `error of ${batchId}`);
  return Promise.resolve(admission.settle(report)).then((left) => ({
    kind: 'settle',
    batchId,
    report,
    left: Object.fromEntries(left),
  }));
};

const start = (burst: Burst, deed: Deed, place: number): Promise<Played> | null => {
  const store = burst.stores[place % burst.stores.length];
  if (store === undefined) throw new Error('There is no store.');
  if (deed.kind === 'settle') return settle(burst, deed.wishes);
  if (deed.kind === 'reset')
    return store.reset(burst.sessionKey, deed.tool).then(() => ({ kind: 'reset', tool: deed.tool }));
  burst.batches += 1;
  const { sessionKey } = burst;
  return admit(burst, store, toRound({ sessionKey, batchId: `batch_${burst.batches}` }, deed.roundId, deed.calls));
};

const play = async (burst: Burst, deeds: readonly Deed[]): Promise<void> => {
  const played = await Promise.all(deeds.flatMap((deed, place) => start(burst, deed, place) ?? []));
  const before = burst.histories;
  burst.histories = findOrders(burst.settings, before, played);
  if (burst.histories.length === 0)
    throw new Error(`In no order does this come of it: ${JSON.stringify({ history: before[0], played }, null, 1)}`);
};

const anyTool = fc.constantFrom<ModelTool>('search', 'search', 'read', 'write', 'once', '_unknown');
const anyCall = fc.record({ tool: anyTool, given: fc.constantFrom(1, 1, 2) });
const anyEnd = fc.constantFrom<ModelEnd>(
  'failed',
  'failed',
  'failed',
  'bad',
  'answer a',
  'terminal',
  'cut off',
  'shed',
);
const anyAdmit = fc.record({
  kind: fc.constant('admit'),
  roundId: fc.constantFrom(null, null, null, null, 'r1'),
  calls: fc.array(anyCall, { minLength: 1, maxLength: 3 }),
});
const anySettle = fc.record({ kind: fc.constant('settle'), wishes: fc.array(anyEnd, { minLength: 1, maxLength: 3 }) });
const anyReset = fc.record({ kind: fc.constant('reset'), tool: fc.option(anyTool) });
const anyBurst: fc.Arbitrary<readonly Deed[]> = fc.oneof(
  fc.array(anyAdmit, { minLength: 3, maxLength: 9 }),
  fc.array(anySettle, { minLength: 2, maxLength: 4 }),
  fc.array(
    fc.oneof(
      { weight: 3, arbitrary: anyAdmit },
      { weight: 3, arbitrary: anySettle },
      { weight: 1, arbitrary: anyReset },
    ),
    {
      minLength: 2,
      maxLength: 4,
    },
  ),
);
const anySettings: fc.Arbitrary<SessionSettings> = fc.record({
  sessionRetries: fc.constantFrom(20, 4, 2, 1),
  cooldownMs: fc.constant(0),
  ttlMs: fc.constant(86_400_000),
  maxCalls: fc.constantFrom(0, 0, 6),
  maxRounds: fc.constantFrom(0, 0, 0, 8),
  journal: fc.constant(0),
});

// No time passes in the model, and to look for an order may take the real one half a minute.
const toTimeless = (record: Parameters<typeof toKept>[0]): ReturnType<typeof toKept> =>
  toKept({
    ...record,
    tools: record.tools.map((tool) => ({ ...tool, failedAgoMs: tool.failedAgoMs === null ? null : 0 })),
  });

// The Redis may be one that others use, too.
const run = randomUUID();
let sessions = 0;

/**
 * Asks stores on one Redis many things at once, again and again, and looks for an order in which the plain model would
 * have answered all of it so. Throws where there is none.
 */
export const runSessionBursts = (
  createStores: (settings: SessionSettings) => readonly SessionStore[],
  numRuns: number,
): Promise<void> =>
  fc.assert(
    fc.asyncProperty(anySettings, fc.array(anyBurst, { minLength: 2, maxLength: 8 }), async (settings, bursts) => {
      sessions += 1;
      const sessionKey = `burst:${run}${sessions}`;
      const stores = createStores(settings);
      const burst: Burst = { settings, stores, sessionKey, pending: [], histories: [[]], batches: 0 };
      for (const deeds of bursts) await play(burst, deeds);
      const records = await Promise.all(stores.map((store) => store.read(sessionKey)));
      const kept = records.map(({ mode: _, ...record }) => toTimeless(record));
      const possible = burst.histories.map((history) => toTimeless(replay(settings, history).plain.read(ALL_TOOLS)));
      for (const one of kept) expect(possible.some((other) => isDeepStrictEqual(one, other))).toBe(true);
    }),
    { numRuns },
  );
