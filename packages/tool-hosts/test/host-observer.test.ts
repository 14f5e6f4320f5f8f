import { createLogLines } from '@recourse/test-support/log-lines.ts';
import { createMetrics } from 'recourse-server/telemetry/metrics';
import { expect, test } from 'vitest';
import type { Death } from '#src/classify-death.ts';
import { createIsolationObserver } from '#src/host-observer.ts';

const GROWN: Death = {
  pid: 7,
  exitCode: null,
  signal: 'SIGKILL',
  killedFor: 'growth',
  lastLines: [],
  leaver: null,
};

const createSubject = () => {
  const metrics = createMetrics('0.0.0');
  const { log, lines } = createLogLines();
  const clock = { now: 0 };
  const observer = createIsolationObserver({ metrics, log, now: () => clock.now, lateResult: () => undefined });
  const restarts = async (): Promise<readonly string[]> =>
    (await metrics.registry.metrics())
      .split('\n')
      .filter((line) => line.startsWith('recourse_tool_process_restarts_total{reason="growth"'));
  return { observer, lines, clock, restarts };
};

test('a file whose hosts are replaced for memory is named by a line a minute, with how many there were', () => {
  const { observer, lines, clock } = createSubject();
  for (const at of [0, 1000, 59_000, 60_000]) {
    clock.now = at;
    observer.hostEnded('/tools/report.ts', GROWN, 'growth');
  }
  observer.hostEnded('/tools/mail.ts', GROWN, 'growth');
  expect(lines).toMatchObject([
    { level: 'warn', file: 'report.ts', count: 1, msg: 'tool host replaced: its memory grew and was not released' },
    { level: 'warn', file: 'report.ts', count: 3 },
    { level: 'warn', file: 'mail.ts', count: 1 },
  ]);
});

test('replaced hosts are counted by file, a hundred of them by name', async () => {
  const { observer, restarts } = createSubject();
  observer.hostEnded(null, GROWN, 'growth');
  for (let file = 0; file < 103; file += 1) observer.hostEnded(`/tools/${file}.ts`, GROWN, 'growth');
  observer.hostEnded('/tools/0.ts', GROWN, 'growth');
  const series = await restarts();
  expect(series).toHaveLength(102);
  expect(series).toContain('recourse_tool_process_restarts_total{reason="growth",file=""} 1');
  expect(series).toContain('recourse_tool_process_restarts_total{reason="growth",file="0.ts"} 2');
  expect(series).toContain('recourse_tool_process_restarts_total{reason="growth",file="_other"} 3');
});
