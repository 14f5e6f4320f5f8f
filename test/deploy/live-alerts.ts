import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { onTestFinished } from 'vitest';
import * as z from 'zod';
import { readDeployed } from './alert-rules.ts';

// Each state is reached within seconds; a machine under full load takes longer.
const DEADLINE_MS = timeLimit(40_000);

/** Copies of the deployed rules in which nothing waits for minutes. */
export const writeImpatientRules = (): readonly string[] => {
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
        annotations: z.object({ summary: z.string(), runbook_url: z.string(), console_url: z.string() }),
      }),
    ),
  }),
});
export type Alert = z.infer<typeof Alerts>['data']['alerts'][number];

const firingAt = async (url: string): Promise<readonly Alert[]> => {
  const answer: unknown = await (await fetch(`${url}/api/v1/alerts`)).json();
  return Alerts.parse(answer).data.alerts.filter(({ state }) => state === 'firing');
};

export const isFiring = (alerts: readonly Alert[], name: string): boolean =>
  alerts.some(({ labels }) => labels.alertname === name);

/** The alerts that fire once `holds` does; `meanwhile` runs before each look. Rejects with the last ones after the deadline. */
export const untilFiring = async (
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
