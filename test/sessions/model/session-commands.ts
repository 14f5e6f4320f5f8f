import type { StoreUnderTest } from '@recourse/test-support/session-stores-under-test.ts';
import type fc from 'fast-check';
import { expect } from 'vitest';
import type { Admission, CallVerdict, Round, SessionSettings, SessionStore } from '#src/executor/session-store.ts';
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
import type { PlainPermit } from './plain-budget-model.ts';
import type { PlainSessionAdmission, PlainSessionModel } from './plain-session-model.ts';

/** A store as several replicas have it; `age` and `forget` reach what they share. */
export type ReplicasUnderTest = Pick<StoreUnderTest, 'age' | 'forget'> & { readonly stores: readonly SessionStore[] };
export type CreateReplicas = (settings: SessionSettings) => ReplicasUnderTest;

export type Model = {
  readonly plain: PlainSessionModel;
  readonly pending: PlainSessionAdmission[];
  /** The one that was settled last. */
  settled: PlainSessionAdmission | null;
};
export type Real = {
  readonly subject: ReplicasUnderTest;
  readonly sessionKey: string;
  readonly pending: Admission[];
  settled: Admission | null;
  readonly seen: Set<string>;
  batches: number;
};
/** Something that happens in a session, done to a store and to the model; throws where they differ. */
export type SessionCommand = fc.AsyncCommand<Model, Real>;

const choose = ({ subject: { stores } }: Real, replica: number): SessionStore => {
  const store = stores[replica % stores.length];
  if (store === undefined) throw new Error('There is no store.');
  return store;
};

const nameDecision = (permit: PlainPermit): string =>
  permit.decision === 'denied' ? `denied: ${permit.denial}` : permit.decision;

const nameVerdict = (verdict: CallVerdict): string => {
  if (verdict.kind === 'loop') return `loop: ${verdict.cause}`;
  if (verdict.kind === 'limit') return `limit: ${verdict.of}`;
  return verdict.repeats === null || verdict.repeats.same < 2 ? 'run' : 'run: same again';
};

const begin = async (
  { plain, pending }: Model,
  real: Real,
  replica: number,
  ask: (batchId: string) => Round,
): Promise<void> => {
  real.batches += 1;
  const round = ask(`batch_${real.batches}`);
  const admission = await choose(real, replica).admit(round);
  const expected = plain.admit(round);
  for (const permit of expected.permits.values()) real.seen.add(nameDecision(permit));
  for (const verdict of expected.verdicts) real.seen.add(nameVerdict(verdict));
  // A round too many has no number that anyone could know.
  const step = expected.step ?? admission.step;
  expect(toTold(admission, round)).toEqual(toTold({ ...expected, step }, round));
  pending.push(expected);
  real.pending.push(admission);
};

const finish = async (model: Model, real: Real, which: number, wishes: readonly ModelEnd[]): Promise<void> => {
  const { plain, pending } = model;
  const place = which % pending.length;
  const [expected] = pending.splice(place, 1);
  const [admission] = real.pending.splice(place, 1);
  if (expected === undefined || admission === undefined) throw new Error('There is nothing to settle.');
  model.settled = expected;
  real.settled = admission;
  const report = toReport(expected, wishes, `error of ${expected.round.batchId}`);
  const budgets = await admission.settle(report);
  const left = plain.settle(expected, report);
  // Where no budget changes, nobody need be told.
  if (left !== null || budgets.size > 0)
    expect(Object.fromEntries(budgets)).toEqual(Object.fromEntries(left ?? plain.budgets(expected.round)));
};

/** The store keeps what the model keeps. */
export const check = async ({ plain }: Model, real: Real, replica: number): Promise<void> => {
  const { mode: _, ...record } = await choose(real, replica).read(real.sessionKey);
  expect(toKept(record)).toEqual(toKept(plain.read(ALL_TOOLS)));
};

const describeCalls = (calls: readonly ModelCall[]): string =>
  calls.map(({ tool, given }) => `${tool}(${given})`).join(' ');

export const admit = (replica: number, roundId: string | null, calls: readonly ModelCall[]): SessionCommand => ({
  check: ({ pending }) => pending.length < 6,
  toString: () => `admit ${roundId ?? '-'} ${describeCalls(calls)}`,
  run: (model, real) =>
    begin(model, real, replica, (batchId) => toRound({ sessionKey: real.sessionKey, batchId }, roundId, calls)),
});

export const settle = (which: number, wishes: readonly ModelEnd[]): SessionCommand => ({
  check: ({ pending }) => pending.length > 0,
  toString: () => `settle ${which} [${wishes.join(', ')}]`,
  run: (model, real) => finish(model, real, which, wishes),
});

/** The same round again and again, as an agent in a loop makes it. */
export const repeat = (replica: number, times: number, calls: readonly ModelCall[], wishes: readonly ModelEnd[]) => ({
  check: () => true,
  toString: () => `${times} times ${describeCalls(calls)} [${wishes.join(', ')}]`,
  run: async (model: Model, real: Real): Promise<void> => {
    for (let turn = 0; turn < times; turn += 1) {
      const ask = (batchId: string) => toRound({ sessionKey: real.sessionKey, batchId }, null, calls);
      await begin(model, real, replica + turn, ask);
      await finish(model, real, model.pending.length - 1, wishes);
    }
  },
});

// A replica dies: what it had let in is never settled.
export const crash = (which: number): SessionCommand => ({
  check: ({ pending }) => pending.length > 0,
  toString: () => `crash ${which}`,
  run: async ({ pending }, real) => {
    const place = which % pending.length;
    pending.splice(place, 1);
    real.pending.splice(place, 1);
  },
});

// A handler ends after its call was answered.
export const late = (note: number): SessionCommand => ({
  check: ({ settled }) => settled !== null,
  toString: () => `late ${note}`,
  run: async ({ plain, settled }, real) => {
    if (settled === null || real.settled === null) throw new Error('Nothing has been settled.');
    const json = JSON.stringify({ late: note });
    await real.settled.addLate(json);
    plain.addLate(settled, json);
  },
});

export const age = (ms: number): SessionCommand => ({
  check: () => true,
  toString: () => `${ms / 1000} s pass`,
  run: async ({ plain }, { subject, sessionKey }) => {
    plain.pass(ms);
    await subject.age(sessionKey, ms);
  },
});

export const forget = (): SessionCommand => ({
  check: () => true,
  toString: () => 'expire',
  run: async ({ plain }, { subject, sessionKey }) => {
    plain.forget();
    await subject.forget(sessionKey);
  },
});

export const end = (replica: number): SessionCommand => ({
  check: () => true,
  toString: () => 'end',
  run: async ({ plain }, real) => {
    plain.forget();
    await choose(real, replica).end(real.sessionKey);
  },
});

export const reset = (replica: number, tool: ModelTool | null): SessionCommand => ({
  check: () => true,
  toString: () => `reset ${tool ?? 'all'}`,
  run: async ({ plain }, real) => {
    plain.reset(tool);
    await choose(real, replica).reset(real.sessionKey, tool);
  },
});

export const read = (replica: number): SessionCommand => ({
  check: () => true,
  toString: () => 'read',
  run: (model, real) => check(model, real, replica),
});
