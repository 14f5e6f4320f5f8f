import { hash, randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { vi } from 'vitest';
import * as z from 'zod';
import type { ToolResult } from '#src/contract/tool-result.ts';
import { createUnpackRound } from '#src/executor/journal.ts';
import type { SessionRecord, SessionSettings } from '#src/executor/session-store.ts';
import { createRedactor } from '#src/redaction/service-redactor.ts';
import { defineTool } from '#src/tools/define-tool.ts';
import type { Tool } from '#src/tools/tool.ts';
import { TerminalToolError } from '#src/tools/tool-errors.ts';
import { openConnection, toPostText } from './raw-http.ts';
import { createRedisUnderTest, toRedisKey } from './session-stores-under-test.ts';
import { type RunningService, startService } from './start-service.ts';
import { timeLimit } from './time-limit.ts';

/** How a batch of one session may end, or what may happen between two. */
export type Ending =
  | 'fails'
  | 'bad arguments'
  | 'succeeds'
  | 'is mixed'
  | 'is terminal'
  | 'is shed'
  | 'is drained'
  | 'loses its client'
  | 'crashes'
  | 'time passes';

export const SESSION_RETRIES = 5;
/** Longer than every lease. */
export const LONG_MS = 400_000;
export const MOST_RETRIES = 3;
export const toolOf = (retries: number): string => `try_${retries}`;

const SETTINGS: SessionSettings = {
  sessionRetries: SESSION_RETRIES,
  cooldownMs: 0,
  ttlMs: 86_400_000,
  maxCalls: 0,
  maxRounds: 0,
  journal: 200,
};

type Handlers = {
  begun: number;
  readonly held: (() => void)[];
};

const wait = (signal: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));

// One call at a time: whoever comes while one is held has to wait.
const createTool = (retries: number, handlers: Handlers): Tool =>
  defineTool({
    name: toolOf(retries),
    description: 'Ends as it is told.',
    effects: 'read',
    retries,
    concurrency: 1,
    input: z.object({ how: z.enum(['throw', 'give up', 'answer', 'wait', 'hold']), turn: z.number() }),
    run: async ({ how, turn }, { signal }) => {
      handlers.begun += 1;
      if (how === 'throw') throw new Error('no');
      if (how === 'give up') throw new TerminalToolError('never');
      if (how === 'wait') return wait(signal);
      if (how === 'hold') await new Promise<void>((resolve) => handlers.held.push(resolve));
      return { turn };
    },
  });

const countFailures = async ({ url }: RunningService): Promise<number> => {
  const text = await (await fetch(`${url}/metrics`)).text();
  const counts = text.matchAll(/^recourse_session_store_errors_total\{.*\} (\d+)$/gm);
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
};

const Budget = z.tuple([
  z.number(),
  z.number(),
  z.number(),
  z.number(),
  z.string(),
  z.array(z.looseObject({ lease: z.number(), joinUntil: z.number() })),
]);

/** Makes what a session remembers older, as if another replica had written it: the service's own clock cannot be moved. */
const ageRecord = async (redis: Redis, key: string, ms: number): Promise<void> => {
  const older: Record<string, string> = { v: randomUUID() };
  for (const [field, text] of Object.entries(await redis.hgetall(key))) {
    if (!field.startsWith('t:')) continue;
    const [failures, used, epoch, failedAt, lastError, claims] = Budget.parse(JSON.parse(text));
    const aged = claims.map((claim) => ({ ...claim, lease: claim.lease - ms, joinUntil: claim.joinUntil - ms }));
    older[field] = JSON.stringify([failures, used, epoch, failedAt - ms, lastError, aged]);
  }
  if (Object.keys(older).length > 1) await redis.hset(key, older);
};

export type EndingsLab = {
  /** Plays it with a tool that has so many retries; the results, where anyone could hear them. */
  readonly play: (ending: Ending, session: string, retries: number) => Promise<readonly ToolResult[]>;
  readonly read: (session: string) => Promise<SessionRecord>;
  /** How many handlers have begun. */
  readonly begun: () => number;
  /** Waits until the service counts in Redis; gives how often it could not ask it so far, and has counted by itself. */
  readonly whenConnected: () => Promise<number>;
  readonly stop: () => Promise<void>;
};

/** A service on Redis whose batches end as the test wishes; a drained one is followed by another. */
export const createEndingsLab = async (redis: Redis, url: string): Promise<EndingsLab> => {
  const handlers: Handlers = { begun: 0, held: [] };
  const tools = Array.from({ length: MOST_RETRIES + 1 }, (_, retries) => createTool(retries, handlers));
  const environment = {
    REDIS_URL: url,
    LOG_LEVEL: 'silent',
    SESSION_RETRIES: String(SESSION_RETRIES),
    SESSION_BUDGET_COOLDOWN_SECONDS: '0',
    // Here every batch may be the fault of the tool.
    CIRCUIT_FAILURES: '0',
  };
  // The service packs rounds, and this store reads what it has packed.
  const unpack = createUnpackRound(createRedactor({ secrets: [] }));
  const subject = createRedisUnderTest(redis, SETTINGS, { unpack });
  const toKey = (session: string): string => `anonymous:${hash('sha256', session)}`;
  const read = (session: string): Promise<SessionRecord> => subject.store.read(toKey(session));
  let turns = 0;
  let failures = 0;

  const until = (condition: () => unknown): Promise<void> =>
    vi.waitFor(
      async () => {
        if ((await condition()) !== true) throw new Error('It has not come to that.');
      },
      { timeout: timeLimit(10_000), interval: 2 },
    );
  // No two calls are the same: this is not about loops.
  const toCall = (how: unknown, retries: number) => {
    turns += 1;
    return { name: toolOf(retries), arguments: { how, turn: turns } };
  };
  const call = (session: string, retries: number, ...how: readonly unknown[]) =>
    service.call(
      how.map((one) => toCall(one, retries)),
      { session_id: session },
    );
  // A service is there before its connection is, and after an outage it asks again within a second.
  const untilConnected = (asked: RunningService): Promise<void> =>
    until(async () => {
      const [result] = await asked.call([toCall(42, 0)], { session_id: randomUUID() });
      return result?.retry?.mode === 'redis';
    });
  const startConnected = async (): Promise<RunningService> => {
    const started = await startService(environment, tools);
    await untilConnected(started);
    failures -= await countFailures(started);
    return started;
  };
  let service = await startConnected();

  /** Does something while a call of another session holds the tool. */
  const whileHeld = async <Outcome>(retries: number, act: () => Promise<Outcome>): Promise<Outcome> => {
    const holding = service.call([toCall('hold', retries)]);
    await until(() => handlers.held.length === 1);
    // It is not one of those that are counted.
    handlers.begun -= 1;
    try {
      return await act();
    } finally {
      handlers.held.pop()?.();
      await holding;
    }
  };
  const shed = (session: string, retries: number) =>
    whileHeld(retries, () => service.call([toCall('answer', retries)], { session_id: session, deadline_ms: 60 }));
  const drain = async (session: string, retries: number) => {
    const drained = service;
    const { answer } = await whileHeld(retries, async () => {
      const waiting = call(session, retries, 'answer');
      await until(async () => (await drained.metric('recourse_calls_queued{pool="inline"}')) === 1);
      drained.drain();
      // Wrapped: it is answered only when the slot is free.
      return { answer: waiting };
    });
    const results = await answer;
    failures += await countFailures(drained);
    await drained.stop();
    service = await startConnected();
    return results;
  };
  const disconnect = async (session: string, retries: number) => {
    const [{ begun }, { journal }] = [{ ...handlers }, await read(session)];
    const connection = await openConnection(service.port);
    connection.write(toPostText(JSON.stringify({ session_id: session, calls: [toCall('wait', retries)] })));
    await until(() => handlers.begun > begun);
    connection.destroy();
    await until(async () => (await read(session)).journal.length > journal.length);
    return [];
  };
  // As another replica does that dies between letting a batch in and settling it.
  const crash = async (session: string, retries: number) => {
    turns += 1;
    const tool = { name: toolOf(retries), retries, maxCalls: null, effects: 'read', polling: false } as const;
    const calls = [{ tool: tool.name, counts: true, callHash: null }];
    const terms = { sessionKey: toKey(session), batchId: `crash_${turns}`, roundId: null, leaseMs: 305_000 };
    await subject.store.admit({ ...terms, tools: [tool], calls });
    return [];
  };
  const plays: Readonly<Record<Ending, (session: string, retries: number) => Promise<readonly ToolResult[]>>> = {
    fails: (session, retries) => call(session, retries, 'throw'),
    'bad arguments': (session, retries) => call(session, retries, 42),
    succeeds: (session, retries) => call(session, retries, 'answer'),
    'is mixed': (session, retries) => call(session, retries, 'throw', 'answer'),
    'is terminal': (session, retries) => call(session, retries, 'give up'),
    'is shed': shed,
    'is drained': drain,
    'loses its client': disconnect,
    crashes: crash,
    'time passes': async (session) => {
      await ageRecord(redis, toRedisKey(toKey(session)), LONG_MS);
      return [];
    },
  };
  return {
    play: (ending, session, retries) => plays[ending](session, retries),
    read,
    begun: () => handlers.begun,
    whenConnected: async () => {
      await untilConnected(service);
      return failures + (await countFailures(service));
    },
    stop: () => service.stop(),
  };
};
