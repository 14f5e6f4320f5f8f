import { setTimeout as pause } from 'node:timers/promises';
import { startRedisServer } from '@recourse/test-support/redis-server.ts';
import { type RunningProcess, startProcess } from '@recourse/test-support/start-process.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { ALL_WRITTEN_ONCE, beginEach, createWriteLoad } from '@recourse/test-support/write-load.ts';
import { expect, onTestFinished, test } from 'vitest';

// Replicas that are replaced one after the other while writes are sent to all of them. RUNS=14 RATE=30 for a longer look.

const REPLACED = Number(process.env['RUNS'] ?? 3);
const PER_SECOND = Number(process.env['RATE'] ?? 20);
const EVERY_MS = 6500;
// Of the calls that a replica runs when it is told to stop.
const LONGEST_MS = 2000;

test('a roll-out under load loses and doubles no write, leaves none unknown, and each replica stops within seconds', {
  timeout: timeLimit(60_000 + 3 * EVERY_MS * REPLACED),
}, async () => {
  const redis = await startRedisServer();
  onTestFinished(redis.stop);
  const serving: RunningProcess[] = [];
  const load = createWriteLoad(() => serving.map(({ url }) => url));
  const environment = { REDIS_URL: redis.url, TOOLS_DIR: load.toolsDirectory };
  const start = () => startProcess({ by: 'node', environment });
  serving.push(...(await Promise.all([start(), start(), start()])));
  let isOn = true;
  const sent = beginEach(
    PER_SECOND,
    () => isOn,
    // Short ones and long ones, whose answer is waited for or which are queued.
    (count) => load.write({ tool: count % 2 === 0 ? 'direct' : 'queued', ms: (count * 137) % LONGEST_MS }),
  );
  const stops: { readonly code: number | null; readonly tookMs: number }[] = [];
  for (let replaced = 0; replaced < REPLACED; replaced += 1) {
    const nextAt = performance.now() + EVERY_MS;
    const replica = serving[0];
    if (replica === undefined) throw new Error('There are three.');
    const stoppedAt = performance.now();
    // It goes on being asked until its successor serves: callers do not know.
    replica.send('SIGTERM', 'service');
    const { code } = await replica.exited;
    stops.push({ code, tookMs: performance.now() - stoppedAt });
    serving.push(await start());
    serving.shift();
    await pause(Math.max(0, nextAt - performance.now()));
  }
  isOn = false;
  const ends = await sent;
  const refusals = ends.reduce((sum, end) => sum + end.refusals, 0);
  const latest = Math.max(...ends.map(({ tookMs }) => tookMs)) / 1000;
  process.stdout.write(
    `roll-out: ${ends.length} writes, ${refusals} refusals, the latest after ${latest.toFixed(1)} s; stops took ${stops.map(({ tookMs }) => tookMs.toFixed(0)).join(', ')} ms\n`,
  );
  expect(load.judge(ends)).toEqual(ALL_WRITTEN_ONCE);
  expect(stops.filter(({ code, tookMs }) => code !== 0 || tookMs > LONGEST_MS + timeLimit(5000))).toEqual([]);
});
