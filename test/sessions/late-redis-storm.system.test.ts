import { RECOVERY, startCountingService } from '@recourse/test-support/counting-service.ts';
import { startRedisServer } from '@recourse/test-support/redis-server.ts';
import { startTcpProxy } from '@recourse/test-support/tcp-proxy.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';

// Storms of failing calls at three replicas whose Redis answers late while each lasts. RUNS=200 for as many sessions.

const SESSIONS = Number(process.env['RUNS'] ?? 12);
const BURST = 100;
const REPLICAS = 3;
const RETRIES = 3;
// Longer than a batch waits for a step of its session; the second is longer than it waits for what it came to.
const LATE_MS = [30, 60, 150, 600] as const;

const startReplicas = async () => {
  const server = await startRedisServer();
  onTestFinished(server.stop);
  const proxy = await startTcpProxy({ to: server.port });
  onTestFinished(proxy.close);
  const environment = { REDIS_URL: `redis://127.0.0.1:${proxy.port}`, MAX_EVENT_LOOP_LAG_MS: '60000' };
  const replicas = await Promise.all(Array.from({ length: REPLICAS }, () => startCountingService(environment)));
  return { proxy, replicas, ran: () => replicas.reduce((sum, { runs }) => sum + runs(), 0) };
};

type Lab = Awaited<ReturnType<typeof startReplicas>>;

/** A failure that one replica has counted in Redis, and every replica has seen; false: an answer of Redis was late by itself. */
const failOnce = async ({ replicas }: Lab, session: string): Promise<boolean> => {
  const [first, ...others] = replicas;
  const errorsNow = async (): Promise<string> =>
    JSON.stringify(await Promise.all(replicas.map(({ errors }) => errors())));
  const before = await errorsNow();
  await first?.fail(session);
  for (const { service } of others)
    await service.call([{ name: 'echo', arguments: { text: session } }], { session_id: session });
  return (await errorsNow()) === before;
};

test('a storm of failing calls while Redis is late runs what each replica had left, and what ran is counted afterwards', {
  timeout: timeLimit(60_000 + 4000 * SESSIONS),
}, async () => {
  const lab = await startReplicas();
  const { proxy, replicas, ran } = lab;
  for (const { served } of replicas) await served();
  const burstsRan: number[] = [];
  for (let count = 0; burstsRan.length < SESSIONS; count += 1) {
    const session = `storm ${count}`;
    if (!(await failOnce(lab, session))) continue;
    const before = ran();
    proxy.delay((LATE_MS[count % LATE_MS.length] ?? 0) / 2);
    const results = await Promise.all(Array.from({ length: BURST }, (_, at) => replicas[at % REPLICAS]?.fail(session)));
    burstsRan.push(ran() - before);
    const refused = results.filter((result) => result?.error?.code === 'retry_budget_exhausted').length;
    expect([session, refused]).toEqual([session, BURST - (ran() - before)]);
    proxy.delay(0);
    // In the session, whose counts have come to Redis then.
    const after = ran();
    for (const { fail } of replicas) {
      const modeNow = async () => (await fail(session)).retry?.mode;
      await expect.poll(modeNow, RECOVERY).toBe('redis');
    }
    expect([session, ran() - after]).toEqual([session, 0]);
  }
  const ranMost = Math.max(...burstsRan);
  const exact = burstsRan.filter((calls) => calls === RETRIES).length;
  process.stdout.write(
    `storms: of ${BURST} calls in each of ${SESSIONS} sessions ran at most ${ranMost}, in ${exact} as many as were left (${RETRIES})\n`,
  );
  // As docs/semantics.md says: as many times what was left as there are replicas, where each counts alone.
  expect(burstsRan.filter((calls) => calls < RETRIES || calls > RETRIES * REPLICAS)).toEqual([]);
});
