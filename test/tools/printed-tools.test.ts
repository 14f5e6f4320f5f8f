import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { openLab, toOutcome } from '@recourse/test-support/isolation-lab.ts';
import { toEntry } from '@recourse/test-support/journal-entries.ts';
import { expect, onTestFinished, test } from 'vitest';

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/writing-tools.md'), 'utf8');
const BLOCKS = [...PAGE.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = '']) => code);

/** The one block of docs/writing-tools.md that holds this. */
const printed = (text: string): string => {
  const found = BLOCKS.filter((code) => code.includes(text));
  expect(found, text).toHaveLength(1);
  return found.join('');
};

test('the reducer that docs/writing-tools.md prints says where the time went', async () => {
  const text = `import { defineReducer } from 'recourse-server';\n${printed('defineReducer')}`;
  const file = await openLab().load(text);
  const entries = [
    toEntry({ tool: 'search', duration_ms: 20 }),
    toEntry({ tool: 'write', duration_ms: 25 }),
    toEntry({ tool: null, duration_ms: 500 }),
    toEntry({ tool: 'search', duration_ms: 10 }),
  ];
  expect(toOutcome(await file.call('time_by_tool', { entries }, 60_000, { role: 'reducer' }))).toEqual([
    { tool: 'search', ms: 30 },
    { tool: 'write', ms: 25 },
  ]);
});

test('the tool that docs/writing-tools.md prints sends its effect id to its upstream as the key of the booking', async () => {
  const keys: unknown[] = [];
  const server = createServer((request, response) => {
    keys.push(request.headers['idempotency-key']);
    response.writeHead(201).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The room service has no port.');
  const lab = openLab({
    sharedVariables: ['RECOURSE_TEST_RUN', 'ROOMS_URL'],
    environment: { ...process.env, ROOMS_URL: `http://127.0.0.1:${address.port}` },
  });
  const file = await lab.load(printed("name: 'book_room'"));
  const booking = { day: '2026-12-23', room: 'Elm', pin: '1234' };
  const book = async (effectId: string): Promise<unknown> =>
    toOutcome(await file.call('book_room', booking, 60_000, { effectId }));
  for (const effectId of ['e_first', 'e_second'])
    expect(await book(effectId)).toEqual({ day: '2026-12-23', room: 'Elm' });
  expect(keys).toEqual(['e_first', 'e_second']);
  expect(file.tool('book_room').maxCallsPerSession).toBe(10);
});
