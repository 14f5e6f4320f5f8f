import { BAD_KINDS, type CallKind, type CallPlan, GOOD_KINDS, WRITE_KINDS } from './call-kinds.ts';
import { toKillerKinds } from './killer-kinds.ts';
import { KEYED_LINE, PLAIN_LINE } from './ledger.ts';
import type { Random } from './random.ts';

export type PlannedCall = CallPlan & {
  readonly id: string | number | null;
  readonly nature: 'good' | 'bad' | 'killer';
};

type Nature = PlannedCall['nature'] | 'write';

/** One batch, ready to be sent; chosen by the seed alone. */
export type PlannedBatch = {
  readonly body: string;
  /** Its Idempotency-Key; such a batch holds writes. */
  readonly key: string | null;
  readonly sessionId: string | null;
  /** What each result must answer, in order; null = an entry that is no call. */
  readonly calls: readonly (PlannedCall | null)[];
  readonly deadlineMs: number;
  /** `fresh`: a connection of its own, closed after the answer. */
  readonly connection: 'kept' | 'fresh';
  /** When the client goes away; null = it stays. */
  readonly hangUpAfterMs: number | null;
};

export type BatchPlans = { readonly next: () => PlannedBatch };

type Terms = {
  readonly random: Random;
  /** Names that both replicas offer. */
  readonly tools: ReadonlySet<string>;
  /** Share of the batches that carry killers. */
  readonly killerShare: number;
  /** Of the run, for its keys. */
  readonly mark: string;
  /** In seconds, as text: the argument of `sleep` by which processes left behind are found. */
  readonly sleepSeconds: string;
};

const SIZES = [
  { weight: 40, least: 1, most: 2 },
  { weight: 40, least: 3, most: 12 },
  { weight: 15, least: 13, most: 40 },
  { weight: 5, least: 64, most: 64 },
];
const DEADLINES = [
  { weight: 70, least: 15_000, most: 15_000 },
  { weight: 22, least: 1000, most: 5000 },
  { weight: 8, least: 20, most: 400 },
];
const KEYED_SHARE = 0.2;
const MAX_WRITES = 3;
const SESSIONS = 300;
const HANG_UP_SHARE = 0.04;
// Most batches are answered within a few milliseconds: who leaves later has had its answer.
const MAX_HANG_UP_MS = 30;
const BAD_SHARE = 0.12;
const FRESH_SHARE = 0.2;
const NOT_CALLS = [42, null, [], 'echo', { arguments: {} }, { name: '' }];

/** Batches of 1 to 64 calls, most of them good; some alone with killers, some full of neighbours. */
export const createBatchPlans = (terms: Terms): BatchPlans => {
  const { random, tools } = terms;
  const offered = (kinds: readonly CallKind[]): readonly CallKind[] => kinds.filter(({ tool }) => tools.has(tool));
  const good = offered(GOOD_KINDS);
  const bad = offered(BAD_KINDS);
  const killers = offered(toKillerKinds(terms.sleepSeconds));
  const writes = offered(WRITE_KINDS);
  let made = 0;

  const planCall = (drawn: Nature, line: string): PlannedCall => {
    const kind = random.weigh({ good, bad, killer: killers, write: writes }[drawn]);
    const nature = drawn === 'write' ? 'good' : drawn;
    made += 1;
    const unique = `${line}${made}_${random.whole(0, 999_999)}`;
    // Ids need not be unique, nor be texts.
    const id = random.weigh([
      { weight: 90, id: unique },
      { weight: 4, id: made },
      { weight: 3, id: null },
      { weight: 3, id: 'call_0' },
    ]).id;
    return { ...kind.plan(random, unique), id, nature };
  };

  const planCalls = (size: number, line: string): readonly (PlannedCall | null)[] => {
    const calls = Array.from({ length: size }, () => {
      if (!random.chance(BAD_SHARE)) return planCall('good', line);
      return random.chance(0.2) ? null : planCall('bad', line);
    });
    if (line === KEYED_LINE && writes.length > 0)
      for (let wanted = random.whole(1, MAX_WRITES); wanted > 0; wanted -= 1)
        calls[random.whole(0, size - 1)] = planCall('write', line);
    if (killers.length === 0 || !random.chance(terms.killerShare)) return calls;
    calls[random.whole(0, size - 1)] = planCall('killer', line);
    return calls;
  };

  return {
    next: () => {
      const { least, most } = random.weigh(SIZES);
      const isKeyed = random.chance(KEYED_SHARE);
      const calls = planCalls(random.whole(least, most), isKeyed ? KEYED_LINE : PLAIN_LINE);
      const envelope = planEnvelope(random, made);
      const time = random.weigh(DEADLINES);
      const deadlineMs = random.whole(time.least, time.most);
      return {
        body: JSON.stringify({
          ...envelope,
          deadline_ms: deadlineMs,
          calls: toEntries(calls, random),
        }),
        calls,
        key: isKeyed ? `${terms.mark}-${made}` : null,
        sessionId: envelope.session_id ?? null,
        deadlineMs,
        connection: random.chance(FRESH_SHARE) ? 'fresh' : 'kept',
        hangUpAfterMs: random.chance(HANG_UP_SHARE) ? random.whole(0, MAX_HANG_UP_MS) : null,
      };
    },
  };
};

type Envelope = {
  readonly session_id?: string;
  readonly round_id?: string;
  readonly order?: string;
  readonly on_error?: string;
};

const planEnvelope = (random: Random, made: number): Envelope => {
  // Sessions pass by: those of yesterday have used up their budgets.
  const session = `s_${Math.floor(made / 20_000)}_${random.whole(1, SESSIONS)}`;
  return {
    ...(random.chance(0.8) ? { session_id: session } : {}),
    ...(random.chance(0.1) ? { round_id: `r_${random.whole(1, 20)}` } : {}),
    ...(random.chance(0.2) ? { order: 'sequential', on_error: random.pick(['continue', 'stop']) } : {}),
  };
};

const toEntries = (calls: readonly (PlannedCall | null)[], random: Random): readonly unknown[] =>
  calls.map((call) => {
    if (call === null) return random.pick(NOT_CALLS);
    const given = random.chance(0.2) ? JSON.stringify(call.arguments) : call.arguments;
    return { id: call.id, name: call.name, arguments: given };
  });
