import {
  accept,
  type CallRecordsUnderTest,
  type CreateCallRecordsUnderTest,
  createMemoryCallsUnderTest,
  createRedisCallsUnderTest,
  createSqliteCallsUnderTest,
  DEAF,
  LATE,
  look,
} from '@recourse/test-support/call-records-under-test.ts';
import { useRedis } from '@recourse/test-support/session-stores-under-test.ts';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { CallLease } from '#src/calls/call-kind.ts';

const redis = useRedis();

type Command =
  | { readonly kind: 'claim' | 'begin' | 'renew' | 'release' | 'late'; readonly worker: number }
  | { readonly kind: 'commit'; readonly worker: number; readonly unknown: boolean }
  | { readonly kind: 'cancel'; readonly how: 'asked' | 'forced' }
  | { readonly kind: 'lapse' };

const WORKERS = 3;
const worker = fc.nat(WORKERS - 1);

const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('claim' as const), worker }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('begin' as const), worker }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('lapse' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('renew' as const, 'release' as const), worker }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('commit' as const), worker, unknown: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('late' as const), worker }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('cancel' as const), how: fc.constantFrom('asked' as const, 'forced') }),
  },
);

/** The call as it should be, and what the workers of a write have done. */
const createModel = () => ({
  fence: 0,
  isLeased: false,
  state: 'queued' as 'queued' | 'running' | 'ended',
  begins: 0,
  cancel: 'no' as 'no' | 'asked' | 'forced',
  result: null as string | null,
  isUnknown: false,
  /** Of each worker: the lease it has, and how often the call had begun when it took it. */
  leases: new Map<number, CallLease & { readonly seen: number }>(),
  /** The fences under which the write has begun, and was not given back. */
  ran: new Set<number>(),
  commits: 0,
});

type Model = ReturnType<typeof createModel>;
type Run = { readonly model: Model; readonly subject: CallRecordsUnderTest; readonly key: string };

const isHeld = ({ fence, state }: Model, lease: CallLease): boolean => state !== 'ended' && fence === lease.fence;

const STEPS = {
  claim: async ({ model, subject, key }: Run, by: number) => {
    const claim = await subject.records.claim(key);
    const wanted = model.state === 'ended' ? 'ended' : model.isLeased ? 'busy' : 'held';
    expect(claim.kind).toBe(wanted);
    if (claim.kind !== 'held') return;
    model.fence += 1;
    model.isLeased = true;
    model.state = 'queued';
    expect(claim.lease.fence).toBe(model.fence);
    expect(claim.record).toMatchObject({ begins: model.begins, cancel: model.cancel });
    model.leases.set(by, { ...claim.lease, seen: claim.record.begins });
  },
  begin: async ({ model, subject }: Run, by: number) => {
    const lease = model.leases.get(by);
    // As a worker does with a write that another one has begun.
    if (lease === undefined || lease.seen > 0) return;
    const held = isHeld(model, lease);
    expect(await subject.records.begin(lease)).toBe(held ? 'held' : 'lost');
    if (!held) return;
    if (model.state === 'queued') model.begins += 1;
    model.state = 'running';
    model.isLeased = true;
    model.ran.add(lease.fence);
  },
  renew: async ({ model, subject }: Run, by: number) => {
    const lease = model.leases.get(by);
    if (lease === undefined) return;
    const held = isHeld(model, lease);
    const cancel = held ? model.cancel : 'no';
    expect(await subject.records.renew(lease, null)).toEqual({ state: held ? 'held' : 'lost', cancel });
    if (held) model.isLeased = true;
  },
  release: async ({ model, subject }: Run, by: number) => {
    const lease = model.leases.get(by);
    if (lease === undefined) return;
    await subject.records.release(lease);
    if (!isHeld(model, lease)) return;
    if (model.state === 'running') model.begins -= 1;
    model.state = 'queued';
    model.isLeased = false;
    model.ran.delete(lease.fence);
  },
  commit: async ({ model, subject }: Run, by: number, unknown: boolean) => {
    const lease = model.leases.get(by);
    if (lease === undefined) return;
    const held = isHeld(model, lease);
    const result = JSON.stringify({ by: lease.fence });
    // Its answer may have been lost: it commits again.
    const again = model.state === 'ended' && model.fence === lease.fence && model.result === result;
    const committed = await subject.records.commit(lease, result, { late: false, unknown });
    expect(committed).toBe(held || again ? 'held' : 'lost');
    if (held) Object.assign(model, { state: 'ended', result, isUnknown: unknown, commits: model.commits + 1 });
  },
  late: async ({ model, subject }: Run, by: number) => {
    const lease = model.leases.get(by);
    if (lease === undefined || model.state !== 'ended') return;
    const result = JSON.stringify({ late: lease.fence });
    const again = model.fence === lease.fence && model.result === result;
    expect(await subject.records.commit(lease, result, LATE)).toBe(model.isUnknown || again ? 'held' : 'lost');
    if (model.isUnknown) Object.assign(model, { result, isUnknown: false });
  },
} as const;

const take = async (run: Run, next: Command): Promise<void> => {
  const { model, subject, key } = run;
  switch (next.kind) {
    case 'commit':
      return STEPS.commit(run, next.worker, next.unknown);
    case 'lapse':
      await subject.lapse(key);
      model.isLeased = false;
      return;
    case 'cancel':
      await subject.records.cancel(key, next.how);
      if (model.state !== 'ended' && model.cancel !== 'forced') model.cancel = next.how;
      return;
    default:
      return STEPS[next.kind](run, next.worker);
  }
};

/** Runs random schedules of three workers, of which any may freeze at any step, and compares after each step. */
const runModel = async (createRecords: CreateCallRecordsUnderTest, numRuns: number): Promise<void> => {
  const subject = await createRecords();
  let most = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(command, { maxLength: 40, size: 'max' }), async (commands) => {
      const model = createModel();
      const key = await accept(subject.records);
      for (const next of commands) {
        await take({ model, subject, key }, next);
        const { state, begins, cancel, result } = await look(subject.records, key);
        expect({ state, begins, cancel, result }).toEqual({
          state: model.state,
          begins: model.begins,
          cancel: model.cancel,
          result: model.result,
        });
        expect(model.ran.size).toBeLessThanOrEqual(1);
        expect(model.commits).toBeLessThanOrEqual(1);
      }
      most = Math.max(most, model.fence * model.commits);
    }),
    { numRuns },
  );
  // Some call was taken over, and ended.
  expect(most).toBeGreaterThan(1);
};

test('in random schedules records in memory end once, and no write begins under two workers', () =>
  runModel(createMemoryCallsUnderTest, 500));

test('the same in SQLite', () => runModel(createSqliteCallsUnderTest, 100));

test('the same in Redis', () => runModel((terms) => createRedisCallsUnderTest(redis(), DEAF, terms), 100));
