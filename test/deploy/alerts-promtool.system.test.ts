import { globSync } from 'node:fs';
import { join } from 'node:path';
import { runPromtool } from '@recourse/test-support/prometheus.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';
import { ROOT } from './script-sandbox.ts';

// Days of samples are evaluated; a machine under full load takes a while.
const TIMEOUT_MS = timeLimit(180_000);

const CASES = globSync('deploy/promtool-tests/*.yml', { cwd: ROOT }).sort();

const expectSuccess = async (...words: readonly string[]): Promise<void> => {
  const { status, output } = await runPromtool(words);
  if (status !== 0 || !output.includes('SUCCESS')) throw new Error(`promtool ${words.join(' ')}\n${output}`);
};

test('promtool takes the rules and the configuration that loads them', async () => {
  await expectSuccess('check', 'rules', join(ROOT, 'deploy/recording-rules.yml'), join(ROOT, 'deploy/alerts.yml'));
  await expectSuccess('check', 'config', join(ROOT, 'deploy/prometheus.yml'));
});

test('there are cases', () => {
  expect(CASES).toEqual([
    'deploy/promtool-tests/objectives.test.yml',
    'deploy/promtool-tests/overload.test.yml',
    'deploy/promtool-tests/promises.test.yml',
    'deploy/promtool-tests/slow-burn.test.yml',
    'deploy/promtool-tests/stores.test.yml',
    'deploy/promtool-tests/tools.test.yml',
  ]);
});

test.each(CASES)(
  'the alerts fire when they should, with these words, and not else: %s',
  { timeout: TIMEOUT_MS },
  (path) => expectSuccess('test', 'rules', join(ROOT, path)),
);
