import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { expect } from 'vitest';
import type { Admission, ToolOutcome } from '#src/executor/session-store.ts';
import { type PlainAdmission, PlainBudgetModel } from './plain-budget-model.ts';
import type { PlainOutcome } from './plain-tool-model.ts';
import type { CreateStoreUnderTest, StoreUnderTest } from './session-stores-under-test.ts';

// Times pass in tens of seconds and nothing ends on one: a slow machine cannot turn a lease the other way.
const LEASE_MS = 65_000;
const COOLDOWN_MS = 105_000;
const STEPS_MS = [10_000, 40_000, 70_000, 110_000];
const RETRIES = { search: 3, read: 1, write: 2, ping: 0, _unknown: 3 } as const;
type ToolName = keyof typeof RETRIES;

type Model = { readonly plain: PlainBudgetModel; readonly pending: PlainAdmission[] };
type Real = {
  readonly subject: StoreUnderTest;
  readonly sessionKey: string;
  readonly pending: Admission[];
  readonly seen: Set<string>;
  batches: number;
};
type BudgetCommand = fc.AsyncCommand<Model, Real>;

const admit = (round: string | null, names: readonly ToolName[]): BudgetCommand => ({
  check: ({ pending }) => pending.length < 6,
  toString: () => `admit ${round ?? '-'} [${names.join(' ')}]`,
  run: async ({ plain, pending }, real) => {
    const tools = names.map((name) => ({ name, retries: RETRIES[name] }));
    real.batches += 1;
    const admission = await real.subject.store.admit({
      sessionKey: real.sessionKey,
      batchId: `batch_${real.batches}`,
      roundId: round,
      leaseMs: LEASE_MS,
      tools,
    });
    const expected = plain.admit({ name: round, leaseMs: LEASE_MS, tools });
    expect(Object.fromEntries(admission.permits)).toEqual(Object.fromEntries(expected.permits));
    for (const permit of expected.permits.values())
      real.seen.add(permit.decision === 'denied' ? permit.denial : permit.decision);
    pending.push(expected);
    real.pending.push(admission);
  },
});

const toFlags = (name: string, outcome: PlainOutcome, error: string): ToolOutcome => ({
  name,
  failed: outcome === 'failed' || outcome === 'mixed',
  succeeded: outcome === 'succeeded' || outcome === 'mixed',
  interrupted: outcome === 'interrupted',
  error,
});

/** What may come of a tool: the calls of one that was refused are refused, and a call of an unknown name never succeeds. */
const toPossible = (name: string, wanted: PlainOutcome, admission: PlainAdmission): PlainOutcome => {
  if (admission.permits.get(name)?.decision === 'denied') return 'neither';
  return name === '_unknown' && (wanted === 'succeeded' || wanted === 'mixed') ? 'failed' : wanted;
};

const settle = (which: number, wanted: readonly PlainOutcome[]): BudgetCommand => ({
  check: ({ pending }) => pending.length > 0,
  toString: () => `settle ${which} [${wanted.join(' ')}]`,
  run: async ({ plain, pending }, real) => {
    const place = which % pending.length;
    const [admission] = pending.splice(place, 1);
    const [mine] = real.pending.splice(place, 1);
    if (admission === undefined || mine === undefined) throw new Error('There is nothing to settle.');
    const outcomes = new Map(
      [...admission.permits.keys()].map((name, position) => {
        const outcome = wanted[position % wanted.length] ?? 'neither';
        return [name, toPossible(name, outcome, admission)] as const;
      }),
    );
    const error = `error of ${place} ${wanted.join(' ')}`;
    const budgets = await mine.settle(Array.from(outcomes, ([name, outcome]) => toFlags(name, outcome, error)));
    const expected = plain.settle(admission, outcomes, error) ?? new Map();
    expect(Object.fromEntries(budgets)).toEqual(Object.fromEntries(expected));
  },
});

const age = (ms: number): BudgetCommand => ({
  check: () => true,
  toString: () => `${ms / 1000} s pass`,
  run: async ({ plain }, { subject, sessionKey }) => {
    plain.now += ms;
    await subject.age(sessionKey, ms);
  },
});

const forget = (): BudgetCommand => ({
  check: () => true,
  toString: () => 'forget',
  run: async ({ plain }, { subject, sessionKey }) => {
    plain.forget();
    await subject.forget(sessionKey);
  },
});

const anyTools = fc.uniqueArray(
  fc.constantFrom<ToolName>('search', 'search', 'read', 'read', 'write', 'ping', '_unknown'),
  {
    minLength: 1,
    maxLength: 3,
  },
);
const anyOutcomes = fc.array(
  fc.constantFrom<PlainOutcome>(
    'failed',
    'failed',
    'failed',
    'succeeded',
    'succeeded',
    'mixed',
    'neither',
    'interrupted',
  ),
  { minLength: 1, maxLength: 3 },
);
const anyRound = fc.constantFrom(null, null, null, 'r1', 'r2', 'r3');

const anyCommand = fc.oneof(
  { weight: 10, arbitrary: fc.tuple(anyRound, anyTools).map(([round, names]) => admit(round, names)) },
  { weight: 10, arbitrary: fc.tuple(fc.nat(5), anyOutcomes).map(([which, wanted]) => settle(which, wanted)) },
  { weight: 2, arbitrary: fc.constantFrom(...STEPS_MS).map(age) },
  { weight: 1, arbitrary: fc.constant(null).map(forget) },
);

const anySettings = fc.record({
  sessionRetries: fc.constantFrom(20, 20, 4, 2, 0),
  cooldownMs: fc.constantFrom(0, 0, COOLDOWN_MS),
  ttlMs: fc.constant(86_400_000),
});

// The Redis may be one that others use, too.
const run = randomUUID();
let sessions = 0;

/** Holds a store against the plain model in random sessions; gives the decisions that were met. Throws where they differ. */
export const runBudgetModel = async (
  createStore: CreateStoreUnderTest,
  numRuns: number,
): Promise<ReadonlySet<string>> => {
  const seen = new Set<string>();
  await fc.assert(
    fc.asyncProperty(anySettings, fc.commands([anyCommand], { size: '+1', maxCommands: 60 }), (settings, commands) => {
      sessions += 1;
      const sessionKey = `model:${run}${sessions}`;
      return fc.asyncModelRun(
        () => ({
          model: { plain: new PlainBudgetModel(settings), pending: [] },
          real: { subject: createStore(settings), sessionKey, pending: [], seen, batches: 0 },
        }),
        commands,
      );
    }),
    { numRuns },
  );
  return seen;
};
