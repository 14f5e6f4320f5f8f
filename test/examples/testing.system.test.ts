import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const EXAMPLE = 'examples/testing/node/forecast.test.ts';

// They are run here: importing the file declares its tests.
describe('the tests of the example for vitest', async () => {
  await import('../../examples/testing/vitest/forecast.test.ts');
  await import('../../examples/payments/send-payment.test.ts');
});

test('the tests of the example for node:test pass', async () => {
  const run = promisify(execFile);
  // The sources of this package, where its exports name those beside what is built.
  const args = ['--conditions=@recourse/source', '--test', '--test-reporter=tap'];
  // Under vitest's own NODE_OPTIONS and context variables node:test would report to a parent that is not there.
  const env = { PATH: process.env['PATH'], NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] };
  const { stdout } = await run(process.execPath, [...args, EXAMPLE], { cwd: ROOT, env });
  expect(stdout).toMatch(/^# pass 3$/m);
  expect(stdout).toMatch(/^# fail 0$/m);
});

const normalise = (text: string): string => text.replace(/\s+/g, ' ').trim();

test('docs/testing-tools.md quotes the tool and prints tests for vitest of the examples, and leads to the files', () => {
  const page = readFileSync(join(ROOT, 'docs/testing-tools.md'), 'utf8');
  const printed = [...page.matchAll(/```ts\n\/\/ (examples\/\S+)\n(.*?)```/gs)].map(([, path = '', text = '']) => ({
    path,
    // A line with nothing but `// …` stands for what is left out.
    parts: text.split(/^\/\/ …$/m).map(normalise),
  }));
  expect(printed.map(({ path, parts }) => [path, parts.length])).toEqual([
    ['examples/testing/forecast.ts', 3],
    ['examples/testing/vitest/forecast.test.ts', 1],
    ['examples/payments/send-payment.test.ts', 2],
  ]);
  for (const path of [EXAMPLE, 'examples/testing/forecast.ts']) expect(page).toContain(`(../${path})`);
  for (const { path, parts } of printed) {
    const source = normalise(readFileSync(join(ROOT, path), 'utf8'));
    expect(parts.filter((part) => !source.includes(part))).toEqual([]);
  }
});
