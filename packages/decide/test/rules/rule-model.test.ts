import { createActor } from '@recourse/test-support/keyed-client.ts';
import {
  openMemoryRecords,
  openRedisRecords,
  openSqliteRecords,
} from '@recourse/test-support/record-stores-under-test.ts';
import { useRedis } from '@recourse/test-support/session-stores-under-test.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import fc from 'fast-check';
import type { CallToDecide, Grant } from 'recourse-server/executor/policies';
import type { RecordStore } from 'recourse-server/store/record-store';
import { expect, test } from 'vitest';
import { RULES } from '#src/policies/policy-settings.ts';
import { ServiceRules } from '#src/rules/rule-book.ts';
import { RuleStore } from '#src/rules/rule-store.ts';

// PROPERTY_RUNS=3000 for a longer look.
const RUNS = Number(process.env['PROPERTY_RUNS'] ?? 300);

const WINDOW_MS = 600_000;
const TIMEOUT_MS = 30_000;
// What was told at the end of a time limit leaves with its minute.
const LONGEST_MS = WINDOW_MS + TIMEOUT_MS + 60_000;
const MAX = { sum: 20, count: 6 };
const PARSED = RULES.parse([
  { name: 'sum', tools: 'pay', sum: '/amount', max: MAX.sum, window: '10m' },
  { name: 'count', tools: 'pay', sum: 1, max: MAX.count, per: 'tenant', window: '10m' },
]);

const { tool } = createActor('pay', { effects: 'write' });

// Those at which something leaves a window, or comes too late for it, are rare among all.
const PASSES = fc.oneof(
  fc.constantFrom(15_000, 29_000, 60_000, 570_000, 599_000, WINDOW_MS, WINDOW_MS + 29_000),
  fc.integer({ min: 1, max: 400_000 }),
);

const STEP = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('call'),
      amounts: fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 3 }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('happen'), which: fc.nat() }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constantFrom('end', 'unknown', 'verdict', 'repeat'), which: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('crash'), which: fc.nat() }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('pass'), ms: PASSES }) },
);
type Step = {
  readonly do: string;
  readonly which?: number;
  readonly ms?: number;
  readonly amounts?: readonly number[];
};

/** A call that was let through, and what is true of it. */
type Made = {
  readonly name: string;
  readonly amount: number;
  readonly reservedAt: number;
  readonly grant: Grant;
  readonly ticket: string;
  isCrashed: boolean;
  isOver: boolean;
  happenedAt: number | null;
  /** When it was last said that it happened, or was reserved; null: it was said that it did not. */
  countedAt: number | null;
};

class World {
  readonly #session: string;
  readonly #processes: readonly ServiceRules[];
  readonly #pass: (ms: number) => void;
  readonly #now: () => number;
  readonly made: Made[] = [];
  readonly #later: unknown[] = [];
  #names = 0;

  constructor(stores: readonly RecordStore[], pass: (ms: number) => void, session: string) {
    this.#session = session;
    this.#pass = pass;
    this.#now = () => stores[0]?.now() ?? 0;
    this.#processes = stores.map((records) => {
      const store = new RuleStore(records, { durability: 'durable', most: 10 });
      const rules = new ServiceRules({
        ...{ store, time: () => 0, decided: () => undefined },
        onFailed: (error) => {
          throw error;
        },
      });
      rules.apply(PARSED);
      const { settle, confirm } = store;
      store.settle = (...given) => this.#noteLater(settle.apply(store, given));
      store.confirm = (...given) => this.#noteLater(confirm.apply(store, given));
      return rules;
    });
  }

  async play(step: Step): Promise<void> {
    const made = this.made[(step.which ?? 0) % Math.max(1, this.made.length)];
    if (step.do === 'call') await this.call(step.amounts ?? []);
    else if (step.do === 'pass') await this.pass(step.ms ?? 0);
    else if (made !== undefined) await this.#playOn(made, step.do);
    this.#expectWithin();
  }

  #noteLater<Answer>(answer: Answer): Answer {
    this.#later.push(answer);
    return answer;
  }

  async pass(ms: number): Promise<void> {
    await this.settled();
    this.#pass(ms);
  }

  /** Nobody waits for what is confirmed and what is spent, and it counts from when the store hears of it. */
  async settled(): Promise<void> {
    await Promise.all(this.#later.splice(0));
  }

  async call(amounts: readonly number[]): Promise<readonly string[]> {
    const calls = amounts.map((amount) => this.#toCall(amount));
    const counted = this.#sumCounted();
    const decisions = await this.#any().decide(calls);
    for (const [at, decision] of decisions.entries()) {
      const [name, amount] = [calls[at]?.reservation ?? '', amounts[at] ?? 0];
      if (decision.kind === 'refused') {
        const isFull = counted.sum + amount > MAX.sum || counted.count + 1 > MAX.count;
        expect(isFull, `refused ${amount} beside ${JSON.stringify(counted)}`).toBe(true);
        continue;
      }
      counted.sum += amount;
      counted.count += 1;
      const { grant } = decision;
      if (grant === null) throw new Error('Nothing was reserved.');
      const now = this.#now();
      this.made.push({
        ...{ name, amount, grant, ticket: grant.ticket ?? '', reservedAt: now, countedAt: now },
        ...{ isCrashed: false, isOver: false, happenedAt: null },
      });
    }
    return decisions.map(({ kind }) => kind);
  }

  async #playOn(made: Made, what: string): Promise<void> {
    const now = this.#now();
    const isLate = now > made.reservedAt + TIMEOUT_MS;
    if (what === 'happen' && !made.isOver && !isLate) made.happenedAt ??= now;
    if (what === 'crash') made.isCrashed = true;
    if (what === 'end' && !made.isCrashed) await this.#tell(made, (executed) => made.grant.settle(executed, false));
    if (what === 'unknown' && !made.isCrashed && !made.isOver) await made.grant.settle('maybe', false);
    if (what === 'verdict') await this.#tell(made, (executed) => this.#any().settle(made.ticket, executed, false));
    // A pending call that another process runs, or a repeat of one whose process has died.
    if (what === 'repeat' && made.isCrashed && !made.isOver) await this.#repeat(made);
  }

  /** Says the truth: what has not happened does not any more. */
  async #tell(made: Made, say: (executed: 'yes' | 'no') => unknown): Promise<void> {
    const happened = made.happenedAt !== null;
    await say(happened ? 'yes' : 'no');
    if (!made.isOver) made.countedAt = happened ? this.#now() : null;
    made.isOver = true;
  }

  async #repeat(made: Made): Promise<void> {
    if (made.happenedAt !== null) return;
    const pending = { handle: 'h', approval: null, ticket: made.ticket };
    const call = { ...this.#toCall(made.amount), reservation: 'another', pending };
    const [decision] = await this.#any().decide([call]);
    made.isOver = true;
    if (decision?.kind !== 'run' || decision.grant === null) {
      made.countedAt = null;
      return;
    }
    const now = this.#now();
    made.countedAt = null;
    const { grant } = decision;
    this.made.push({
      ...made,
      grant,
      ticket: grant.ticket ?? '',
      reservedAt: now,
      countedAt: now,
      isCrashed: false,
      isOver: false,
    });
  }

  /** What may be counted at most. */
  #sumCounted(): { sum: number; count: number } {
    const now = this.#now();
    const counted = this.made.filter(({ countedAt }) => countedAt !== null && countedAt + LONGEST_MS > now);
    return { sum: counted.reduce((sum, { amount }) => sum + amount, 0), count: counted.length };
  }

  /** What has taken effect within the window is never over. */
  #expectWithin(): void {
    const now = this.#now();
    const happened = this.made.filter(({ happenedAt }) => happenedAt !== null && happenedAt + WINDOW_MS > now);
    expect(happened.reduce((sum, { amount }) => sum + amount, 0)).toBeLessThanOrEqual(MAX.sum);
    expect(happened.length).toBeLessThanOrEqual(MAX.count);
  }

  #any(): ServiceRules {
    this.#names += 1;
    const process = this.#processes[this.#names % this.#processes.length];
    if (process === undefined) throw new Error('There is no process.');
    return process;
  }

  #toCall(amount: number): CallToDecide {
    this.#names += 1;
    return {
      ...{ tool, input: { amount }, tenant: this.#session, key: null, caller: null, keyHash: null },
      ...{ sessionKey: `${this.#session}:s`, requestId: 'r', index: 0, id: null, name: 'pay' },
      ...{
        reservation: `${this.#names}`,
        timeoutMs: TIMEOUT_MS,
        mayWait: false,
        notify: null,
        place: null,
        pending: null,
      },
    };
  }
}

const redis = useRedis();
let sessions = 0;

const BACKENDS = {
  memory: () => {
    const { store, pass } = openMemoryRecords();
    return { stores: [store], pass };
  },
  sqlite: () => {
    const { store, pass } = openSqliteRecords();
    return { stores: [store], pass };
  },
  redis: () => openRedisRecords([redis(), redis()]),
};

test.each(['memory', 'sqlite', 'redis'] as const)(
  '%s: whatever happens to calls, no window is over its sum, none is refused below it, and all is free when it has passed',
  async (backend) => {
    const play = async (steps: readonly Step[]): Promise<void> => {
      sessions += 1;
      const { stores, pass } = BACKENDS[backend]();
      const world = new World(stores, pass, `${process.pid}-${sessions}`);
      for (const step of steps) await world.play(step);
      await world.pass(LONGEST_MS + 1);
      expect(await world.call([MAX.sum - 5, 1, 1, 1, 1, 1])).toEqual(Array.from({ length: 6 }, () => 'run'));
      await world.settled();
    };
    const runs = backend === 'redis' ? Math.ceil(RUNS / 4) : RUNS;
    await fc.assert(fc.asyncProperty(fc.array(STEP, { maxLength: 40 }), play), { numRuns: runs });
  },
  timeLimit(300_000),
);
