import { randomUUID } from 'node:crypto';
import {
  createEndingsLab,
  type Ending,
  type EndingsLab,
  LONG_MS,
  MOST_RETRIES,
  SESSION_RETRIES,
  toolOf,
} from '@recourse/test-support/endings-lab.ts';
import { type RedisForTests, redisForTests } from '@recourse/test-support/redis-server.ts';
import { connectToRedis } from '@recourse/test-support/session-stores-under-test.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import fc from 'fast-check';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ToolResult } from '#src/contract/tool-result.ts';
import { PlainBudgetModel } from '#test/sessions/model/plain-budget-model.ts';
import type { PlainOutcome } from '#test/sessions/model/plain-tool-model.ts';

let server: RedisForTests;
let redis: Redis;
let lab: EndingsLab;

beforeAll(async () => {
  server = await redisForTests();
  redis = await connectToRedis(server.url);
  lab = await createEndingsLab(redis, server.url);
});

afterAll(async () => {
  await lab.stop();
  redis.disconnect();
  await server.stop();
});

type Expected = {
  /** What the session's budget hears of it; null = nothing, ever. */
  readonly outcome: PlainOutcome | null;
  /** Of each call; "" = a success. */
  readonly codes: readonly string[];
  /** Handlers that begin. */
  readonly begun: number;
};

const EXPECTED = {
  fails: { outcome: 'failed', codes: ['tool_exception'], begun: 1 },
  'bad arguments': { outcome: 'failed', codes: ['invalid_arguments'], begun: 0 },
  succeeds: { outcome: 'succeeded', codes: [''], begun: 1 },
  'is mixed': { outcome: 'mixed', codes: ['tool_exception', ''], begun: 2 },
  'is terminal': { outcome: 'neither', codes: ['tool_failed'], begun: 1 },
  'is shed': { outcome: 'neither', codes: ['overloaded'], begun: 0 },
  'is drained': { outcome: 'neither', codes: ['shutting_down'], begun: 0 },
  'loses its client': { outcome: 'interrupted', codes: [], begun: 1 },
  crashes: { outcome: null, codes: [], begun: 0 },
} as const satisfies Readonly<Record<Exclude<Ending, 'time passes'>, Expected>>;

const REFUSED: Expected = { outcome: 'neither', codes: ['retry_budget_exhausted'], begun: 0 };

type Session = { readonly id: string; readonly plain: PlainBudgetModel; readonly seen: Set<string> };

const expectKept = async ({ id, plain }: Session, retries: number): Promise<void> => {
  const { spent, tools } = await lab.read(id);
  const name = toolOf(retries);
  const { failures, used, open } = tools.find((tool) => tool.name === name) ?? { failures: 0, used: 0, open: 0 };
  const kept = plain.record(name);
  expect({ spent, failures, used, open }).toEqual({
    spent: plain.spent(),
    failures: kept.failures,
    used: kept.used,
    open: kept.open,
  });
};

const expectRemaining = (results: readonly ToolResult[], remaining: number): void => {
  for (const { retry } of results) if (retry !== null) expect(retry.remaining).toBe(remaining);
};

/** Plays one batch and holds what is told and kept against the plain model; gives how the model let it in. */
const playBatch = async (session: Session, retries: number, wish: Exclude<Ending, 'time passes'>): Promise<string> => {
  const { id, plain, seen } = session;
  const name = toolOf(retries);
  const admission = plain.admit({ name: null, leaseMs: 305_000, tools: [{ name, retries }] });
  const permit = admission.permits.get(name);
  const isDenied = permit?.decision === 'denied';
  // What is refused ends at once, whatever was to come of it. Of a crash nobody hears that either.
  const ending = isDenied && wish !== 'crashes' ? 'fails' : wish;
  const { outcome, codes, begun } = isDenied && wish !== 'crashes' ? REFUSED : EXPECTED[ending];
  const before = lab.begun();
  const results = await lab.play(ending, id, retries);
  if (outcome !== null) plain.settle(admission, new Map([[name, outcome]]), 'no');
  const told = results.map(({ error }) => error?.code ?? '');
  // On a busy machine a short deadline may pass before the call has asked for a slot.
  const isLate = wish === 'is shed' && told[0] === 'cancelled';
  expect(told).toEqual(isLate ? ['cancelled'] : codes);
  expect(lab.begun() - before).toBe(begun);
  expectRemaining(results, plain.budget(name, retries).remaining);
  await expectKept(session, retries);
  const decision = isDenied ? `denied: ${permit.denial}` : (permit?.decision ?? '');
  if (!isLate) seen.add(`${decision}, ${wish}`);
  return decision;
};

/** After all leases the tool has exactly the retries that the rules leave it: no more, and none is lost on the way. */
const expectNoBlockWithoutCause = async (session: Session, retries: number): Promise<void> => {
  const { plain, id } = session;
  plain.now += LONG_MS;
  await lab.play('time passes', id, retries);
  const name = toolOf(retries);
  const left = plain.budget(name, retries);
  const first = left.failures === 0 ? 1 : 0;
  let ran = 0;
  while ((await playBatch(session, retries, 'fails')).startsWith('denied') === false) ran += 1;
  expect(ran).toBe(first + left.remaining);
};

const playSession = async (seen: Set<string>, retries: number, endings: readonly Ending[]): Promise<void> => {
  const settings = { sessionRetries: SESSION_RETRIES, cooldownMs: 0 };
  const session: Session = { id: randomUUID(), plain: new PlainBudgetModel(settings), seen };
  for (const ending of endings) {
    if (ending === 'time passes') {
      session.plain.now += LONG_MS;
      await lab.play(ending, session.id, retries);
      await expectKept(session, retries);
    } else await playBatch(session, retries, ending);
  }
  await expectNoBlockWithoutCause(session, retries);
};

/** Where Redis got no processor for 50 ms a service counted by itself, which is another story: it is played again. */
const playUndisturbed = async (play: () => Promise<void>): Promise<void> => {
  for (let again = 0; ; again += 1) {
    const before = await lab.whenConnected();
    const [played] = await Promise.allSettled([play()]);
    if (played.status === 'fulfilled') return;
    if (again === 20 || (await lab.whenConnected()) === before) throw played.reason;
  }
};

const anyEnding = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom<Ending>('fails', 'fails', 'fails', 'bad arguments', 'is mixed', 'succeeds') },
  { weight: 6, arbitrary: fc.constantFrom<Ending>('is terminal', 'is shed', 'loses its client', 'crashes') },
  { weight: 1, arbitrary: fc.constant<Ending>('is drained') },
  { weight: 2, arbitrary: fc.constant<Ending>('time passes') },
);

// What may end a retry without its being one that failed.
const EVERY_RETRY = [
  'bad arguments',
  'crashes',
  'fails',
  'is drained',
  'is mixed',
  'is shed',
  'is terminal',
  'loses its client',
  'succeeds',
].map((ending) => `retry, ${ending}`);

test('a retry comes back after a crash, a shed, a drain, a disconnect or a terminal answer, as the plain model says', {
  timeout: timeLimit(240_000),
}, async () => {
  const seen = new Set<string>();
  const anySession = fc.tuple(
    fc.integer({ min: 0, max: MOST_RETRIES }),
    // A failure first: without one there is nothing to retry.
    fc.array(anyEnding, { minLength: 3, maxLength: 12 }).map((endings): readonly Ending[] => ['fails', ...endings]),
  );
  await fc.assert(
    fc.asyncProperty(anySession, ([retries, endings]) => playUndisturbed(() => playSession(seen, retries, endings))),
    { numRuns: 60 },
  );
  expect([...seen].filter((one) => one.startsWith('retry')).sort()).toEqual(EVERY_RETRY);
  expect([...seen]).toEqual(expect.arrayContaining(['free, fails', 'denied: tool, fails', 'denied: running, fails']));
});
