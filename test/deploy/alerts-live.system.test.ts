import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { startPrometheus } from '@recourse/test-support/prometheus.ts';
import { startRedisServer } from '@recourse/test-support/redis-server.ts';
import { startService } from '@recourse/test-support/start-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import { defineTool } from '#src/tools/define-tool.ts';
import { readDeployed } from './alert-rules.ts';

// Each state is reached within seconds; a machine under full load takes longer.
const DEADLINE_MS = timeLimit(40_000);

/** Copies of the deployed rules in which nothing waits for minutes. */
const writeImpatientRules = (): readonly string[] => {
  const directory = mkdtempSync(join(tmpdir(), 'recourse-rules-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return ['recording-rules.yml', 'alerts.yml'].map((name) => {
    const file = join(directory, name);
    const text = readDeployed(`deploy/${name}`);
    writeFileSync(file, text.replace(/^( +(?:for|interval): )\d+m$/gm, '$11s'));
    return file;
  });
};

const Alerts = z.object({
  data: z.object({
    alerts: z.array(
      z.object({
        state: z.enum(['pending', 'firing']),
        labels: z.object({ alertname: z.string(), severity: z.string(), tool: z.string().optional() }),
        annotations: z.object({ summary: z.string(), runbook_url: z.string() }),
      }),
    ),
  }),
});
type Alert = z.infer<typeof Alerts>['data']['alerts'][number];

const firingAt = async (url: string): Promise<readonly Alert[]> => {
  const answer: unknown = await (await fetch(`${url}/api/v1/alerts`)).json();
  return Alerts.parse(answer).data.alerts.filter(({ state }) => state === 'firing');
};

const isFiring = (alerts: readonly Alert[], name: string): boolean =>
  alerts.some(({ labels }) => labels.alertname === name);

/** The alerts that fire once `holds` does; `meanwhile` runs before each look. Rejects with the last ones after the deadline. */
const untilFiring = async (
  url: string,
  holds: (alerts: readonly Alert[]) => boolean,
  meanwhile: () => Promise<unknown> = () => Promise.resolve(),
): Promise<readonly Alert[]> => {
  const until = performance.now() + DEADLINE_MS;
  for (;;) {
    await meanwhile();
    const alerts = await firingAt(url);
    if (holds(alerts)) return alerts;
    if (performance.now() > until) throw new Error(`After ${DEADLINE_MS} ms these fire: ${JSON.stringify(alerts)}`);
    await wait(200);
  }
};

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
