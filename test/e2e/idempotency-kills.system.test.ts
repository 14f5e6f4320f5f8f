import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DEATHS, type Death } from '@recourse/test-support/dying-service.ts';
import { type RedisForTests, redisForTests } from '@recourse/test-support/redis-server.ts';
import { type RunningProcess, startProcess } from '@recourse/test-support/start-process.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { afterAll, beforeAll, expect, type TestContext, test, vi } from 'vitest';
import * as z from 'zod';
import { ToolCallsResponse } from '#src/contract/tool-result.ts';

// A lease of 5 s, and time for a busy machine.
const RECOVERY = { timeout: timeLimit(30_000), interval: 250 };
const PATIENCE = { timeout: timeLimit(120_000) };

let redis: RedisForTests;
let directory: string;

beforeAll(async () => {
  redis = await redisForTests();
  directory = mkdtempSync(join(tmpdir(), 'recourse-kills-'));
});

afterAll(async () => {
  rmSync(directory, { recursive: true, force: true });
  await redis.stop();
});

let turns = 0;

const prepare = (onTestFinished: TestContext['onTestFinished']) => {
  turns += 1;
  const file = join(directory, `notes-${turns}`);
  writeFileSync(file, '');
  const start = (death: Death | 'never'): Promise<RunningProcess> =>
    startProcess({
      by: 'test/support/dying-service.ts',
      environment: { REDIS_URL: redis.url, DIE_AT: death, NOTES_FILE: file },
      onTestFinished,
    });
  return { key: `kill-${process.pid}-${turns}`, file, start };
};

const Answer = z.object({ status: z.number(), replayed: z.string().nullable(), body: z.unknown() });

const send = async (url: string, key: string, note: string): Promise<z.infer<typeof Answer>> => {
  const answer = await fetch(`${url}/tool-calls`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': key },
    body: JSON.stringify({
      session_id: key,
      calls: [
        { id: 'a', name: 'write_note', arguments: { note } },
        { id: 'b', name: 'read_note', arguments: { note: 'x' } },
      ],
    }),
  });
  return { status: answer.status, replayed: answer.headers.get('idempotent-replayed'), body: await answer.json() };
};

const isKept = (body: unknown): boolean =>
  ToolCallsResponse.parse(body).results.every(({ error }) => error?.code !== 'store_unavailable');

/** Sends until the dead service's lease is over, and Redis has answered in time: a busy machine is no outage. */
const sendAgain = async (url: string, key: string, note: string) => {
  const answers: z.infer<typeof Answer>[] = [];
  const isAnswered = async (): Promise<boolean> => {
    const answer = await send(url, key, note);
    if (answer.status !== 200 || !isKept(answer.body)) return false;
    answers.push(answer);
    return true;
  };
  await vi.waitUntil(isAnswered, RECOVERY);
  const [last] = answers;
  return { results: ToolCallsResponse.parse(last?.body).results, replayed: last?.replayed };
};

/** Sends new batches until the service dies of one; gives its key. Where Redis is late the moment does not come. */
const sendUntilDead = async (url: string, { key, note }: { readonly key: string; readonly note: string }) => {
  for (let turn = 0; turn < 10; turn += 1) {
    const sent = { key: `${key}-${turn}`, note: `${note}-${turn}` };
    const died = await send(url, sent.key, sent.note).then(
      () => false,
      () => true,
    );
    if (died) return sent;
    // A store that was late is not asked again for a second.
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
  throw new Error('It did not die.');
};

const effectsIn = (file: string, note: string): number =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line === `write ${note}`).length;

// What the client reads at last, and how often the note was written. Before its write is marked nothing may have
// happened, so it runs; after that nobody knows; once its result is kept it comes back.
const ENDS: Readonly<Record<Death, { readonly write: string; readonly effects: number }>> = {
  before_open: { write: 'success', effects: 1 },
  after_open: { write: 'success', effects: 1 },
  after_admit: { write: 'success', effects: 1 },
  before_start: { write: 'success', effects: 1 },
  after_start: { write: 'outcome_unknown', effects: 0 },
  before_effect: { write: 'outcome_unknown', effects: 0 },
  after_effect: { write: 'outcome_unknown', effects: 1 },
  before_settle: { write: 'outcome_unknown', effects: 1 },
  after_settle: { write: 'outcome_unknown', effects: 1 },
  before_commit: { write: 'outcome_unknown', effects: 1 },
  after_commit: { write: 'replayed', effects: 1 },
};

// Each waits for the lease of a dead service: together they wait once.
test.concurrent.for(DEATHS)(
  'a service that dies %s never writes twice, and the repeat says what is known',
  PATIENCE,
  async (death, { onTestFinished }) => {
    const { file, start, ...prepared } = prepare(onTestFinished);
    const [dying, second] = await Promise.all([start(death), start('never')]);
    // A batch in which something fails waits for its settling.
    const { key, note } = await sendUntilDead(dying.url, {
      key: prepared.key,
      note: death.endsWith('settle') ? 'fails' : 'once',
    });
    expect(await dying.exited).toEqual({ code: null, signal: 'SIGKILL' });
    const { results, replayed } = await sendAgain(second.url, key, note);
    const [write, read] = results;
    expect(write?.replayed === true ? 'replayed' : (write?.error?.code ?? write?.outcome)).toBe(ENDS[death].write);
    expect(read).toMatchObject({ success: true, value: 'x' });
    expect(effectsIn(file, note)).toBe(ENDS[death].effects);
    expect(replayed).toBe(death === 'after_commit' ? 'true' : null);
    // And from now on it is the same answer for ever.
    const again = await sendAgain(second.url, key, note);
    expect(again.replayed).toBe('true');
    expect(again.results.map(({ outcome, value }) => [outcome, value])).toEqual(
      results.map(({ outcome, value }) => [outcome, value]),
    );
    expect(effectsIn(file, note)).toBe(ENDS[death].effects);
  },
);

test(
  'two replicas that race for one key write once, and the other one is told to wait or gets the same',
  PATIENCE,
  async ({ onTestFinished }) => {
    const { start, file } = prepare(onTestFinished);
    const replicas = await Promise.all([start('never'), start('never')]);
    for (let race = 0; race < 20; race += 1) {
      const [key, note] = [`race-${process.pid}-${race}`, `raced-${race}`];
      const answers = await Promise.all(replicas.flatMap(({ url }) => [send(url, key, note), send(url, key, note)]));
      expect(answers.every(({ status }) => status === 200 || status === 409)).toBe(true);
      expect(answers.some(({ status }) => status === 200)).toBe(true);
      // None where Redis was late for all of them: then nothing is written rather than twice.
      const kept = answers.some(({ status, body }) => status === 200 && isKept(body));
      expect(effectsIn(file, note)).toBe(kept ? 1 : 0);
    }
  },
);
