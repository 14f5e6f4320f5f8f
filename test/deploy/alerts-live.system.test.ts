import { startPrometheus } from '@recourse/test-support/prometheus.ts';
import { startRedisServer } from '@recourse/test-support/redis-server.ts';
import { startService } from '@recourse/test-support/start-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import { defineTool } from '#src/tools/define-tool.ts';
import { isFiring, untilFiring, writeImpatientRules } from './live-alerts.ts';

const broken = defineTool({
  name: 'broken',
  description: 'Always fails.',
  effects: 'read',
  input: z.object({}),
  run: () => {
    throw new Error('the rate table is gone');
  },
});

test('a real Prometheus raises a ticket for a lost store and a broken tool, and wakes somebody only for a lost service', {
  timeout: timeLimit(150_000),
}, async () => {
  const redis = await startRedisServer();
  onTestFinished(redis.stop);
  await redis.kill();
  const service = await startService({ REDIS_URL: redis.url, CIRCUIT_FAILURES: '0' }, [broken]);
  const stopService = createOnce(service.stop);
  onTestFinished(stopService);
  const prometheus = await startPrometheus({
    targets: [`127.0.0.1:${service.port}`],
    ruleFiles: writeImpatientRules(),
    scrapeIntervalMs: 500,
  });
  onTestFinished(prometheus.stop);
  let sessions = 0;
  // A session of its own each time: one that had failed before would be refused.
  const call = () => {
    sessions += 1;
    return service.call([{ name: 'broken' }, { name: 'broken' }, { name: 'broken' }], { session_id: `s${sessions}` });
  };

  const troubled = await untilFiring(
    prometheus.url,
    (alerts) =>
      isFiring(alerts, 'RecourseStoreDegraded') &&
      isFiring(alerts, 'RecourseToolFailing') &&
      !isFiring(alerts, 'RecourseMetricsAbsent'),
    call,
  );
  expect(troubled.filter(({ labels }) => labels.severity === 'page')).toEqual([]);
  expect(troubled.find(({ labels }) => labels.alertname === 'RecourseToolFailing')).toMatchObject({
    labels: { severity: 'ticket', tool: 'broken' },
    annotations: {
      summary: 'Tool broken fails more often than not',
      runbook_url: 'docs/operations.md#recoursetoolfailing',
    },
  });

  await redis.restart();
  await untilFiring(prometheus.url, (alerts) => !isFiring(alerts, 'RecourseStoreDegraded'), call);

  await stopService();
  const lost = await untilFiring(prometheus.url, (alerts) => isFiring(alerts, 'RecourseMetricsAbsent'));
  expect(lost.filter(({ labels }) => labels.severity === 'page').map(({ labels }) => labels.alertname)).toEqual([
    'RecourseMetricsAbsent',
  ]);
});

/** The same promise each time: what has been stopped is not stopped again. */
const createOnce = (act: () => Promise<void>): (() => Promise<void>) => {
  let done: Promise<void> | undefined;
  return () => {
    done ??= act();
    return done;
  };
};
