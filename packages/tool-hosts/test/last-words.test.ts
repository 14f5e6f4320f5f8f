import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openLab, toOutcome } from '@recourse/test-support/isolation-lab.ts';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import { expect, test } from 'vitest';

const FILE = `
  import { appendFileSync } from 'node:fs';
  import { defineTool } from 'recourse-server';
  const input = { type: 'object', additionalProperties: true };
  export const tools = [
    defineTool({ name: 'large', description: '', effects: 'read', input, run: () => 'x'.repeat(1_000_000) }),
    defineTool({
      name: 'mark',
      description: '',
      effects: 'write',
      input,
      run: ({ path }) => {
        appendFileSync(path, 'ran\\n');
        process.kill(process.pid, 'SIGKILL');
      },
    }),
  ];
`;

test('a write whose host ends is not run again, though the word that it begins stood behind a large answer', async () => {
  const lab = openLab({ maxHosts: 2, minHosts: 1 });
  const file = await lab.load(FILE);
  const path = join(makeDirectory().root, 'marks');
  await file.call('large');
  const [, mark] = await Promise.all([file.call('large'), file.call('mark', { path })]);
  expect(existsSync(path) ? readFileSync(path, 'utf8') : '').toBe('ran\n');
  expect(toOutcome(mark)).toEqual({ code: 'tool_crashed', executed: 'maybe', retryAfterMs: null });
});

test('a write whose host ends is not run again, though further calls were sent to that host before its last words were read', async () => {
  const lab = openLab({ maxHosts: 2, minHosts: 1 });
  const file = await lab.load(FILE);
  const path = join(makeDirectory().root, 'marks');
  await file.call('large');
  const marked = file.call('mark', { path });
  // This process is busy while the host runs the call and ends.
  const giveUpAt = Date.now() + 5000;
  while (!existsSync(path) && Date.now() < giveUpAt);
  const goOnAt = Date.now() + 100;
  while (Date.now() < goOnAt);
  const [mark, large] = await Promise.all([marked, file.call('large')]);
  expect(readFileSync(path, 'utf8')).toBe('ran\n');
  expect(toOutcome(mark)).toEqual({ code: 'tool_crashed', executed: 'maybe', retryAfterMs: null });
  expect(toOutcome(large)).toBe('x'.repeat(1_000_000));
});
