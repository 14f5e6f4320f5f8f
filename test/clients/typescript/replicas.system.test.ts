import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Death } from '@recourse/test-support/dying-service.ts';
import { createKeyedClient, whenConnected } from '@recourse/test-support/keyed-client.ts';
import { type RedisForTests, redisForTests } from '@recourse/test-support/redis-server.ts';
import { type RunningProcess, startProcess } from '@recourse/test-support/start-process.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createRecourse, isRetryable, mayHaveRun } from '../../../clients/typescript/src/client.ts';
import { createWatchedFetch } from './lossy-lab.ts';

// A lease of 5 s, and time for a busy machine.
const PATIENCE = { timeout: timeLimit(90_000) };

let redis: RedisForTests;
beforeAll(async () => {
  redis = await redisForTests();
});
afterAll(() => redis.stop());

const createNotesFile = (): string => {
  const directory = mkdtempSync(join(tmpdir(), 'recourse-client-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const file = join(directory, 'notes');
  writeFileSync(file, '');
  return file;
};

/** Has one note written by two replicas with one Redis, of which the first dies of it. */
const writeWithDying = async (death: Death) => {
  const file = createNotesFile();
  const start = (moment: Death | 'never'): Promise<RunningProcess> =>
    startProcess({
      by: 'test/support/dying-service.ts',
      environment: { REDIS_URL: redis.url, DIE_AT: moment, NOTES_FILE: file },
    });
  const [dying, second] = await Promise.all([start(death), start('never')]);
  await Promise.all([dying, second].map(({ url }) => whenConnected(createKeyedClient(url))));
  // As behind a load balancer that takes a replica out once it has failed.
  const watched = createWatchedFetch(
    (attempt, { pathname }) => new URL(pathname, attempt === 1 ? dying.url : second.url),
  );
  const recourse = createRecourse({ url: dying.url, fetch: watched.fetch });
  const answer = await recourse.execute([{ name: 'write_note', arguments: { note: 'once' } }], { sessionId: file });
  const [result] = answer.results;
  if (result === undefined) throw new Error('There is no result.');
  return { answer, result, statuses: watched.statuses(), notes: readFileSync(file, 'utf8') };
};

test(
  'a replica dies after it has kept the result: another one gives it, and nothing runs twice',
  PATIENCE,
  async () => {
    const { answer, result, statuses, notes } = await writeWithDying('after_commit');
    expect(statuses[0]).toBe(null);
    expect(answer.replayed).toBe(true);
    expect(result).toMatchObject({ success: true, value: 'once', replayed: true });
    expect(notes).toBe('write once\n');
  },
);

test(
  'a replica dies in the middle of a write: the result says that nobody knows, and nothing runs twice',
  PATIENCE,
  async () => {
    const { answer, result, statuses, notes } = await writeWithDying('after_effect');
    expect(statuses[0]).toBe(null);
    expect(answer.attempts).toBe(statuses.length);
    expect(result).toMatchObject({ success: false, outcome: 'unknown', executed: 'maybe' });
    expect(result.error?.code).toBe('outcome_unknown');
    expect([mayHaveRun(result), isRetryable(result)]).toEqual([true, false]);
    expect(notes).toBe('write once\n');
  },
);
