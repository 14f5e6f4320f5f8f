import { toolThat } from '@recourse/test-support/misbehaving-tools.ts';
import { HOSTILE_SCHEMAS } from '@recourse/test-support/schema-graphs.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Tool } from '#src/tools/tool.ts';

// As a text the largest is 20 MB: that one is for the conversions alone.
const SCHEMAS = HOSTILE_SCHEMAS.filter(([what]) => what !== 'a million parts');
// None that is made ready to check arguments is nested so deep, and as they are they could not be written.
const FLATTER = SCHEMAS.filter(([what]) => !what.includes('nested 5 000 deep'));
const toName = (place: number): string => `hostile_${place}`;

// Their own validators are left out: here it is the catalogue, and what is read of a provider's turn, that must end.
const start = (schemas: typeof SCHEMAS): Promise<RunningService> =>
  startService(
    {},
    schemas.map(([, inputSchema], place): Tool => ({ ...toolThat(toName(place), () => 'done'), inputSchema })),
  );

let all: RunningService;
let flatter: RunningService;

beforeAll(async () => {
  all = await start(SCHEMAS);
  flatter = await start(FLATTER);
}, timeLimit(60_000));

afterAll(async () => {
  await all.stop();
  await flatter.stop();
});

const LIMIT_MS = timeLimit(10_000);

const readCatalogue = async (service: RunningService, query: string, count: number): Promise<void> => {
  const startedAt = performance.now();
  const answer = await fetch(`${service.url}/tools?${query}`);
  const body = await answer.text();
  expect(answer.status).toBe(200);
  for (let place = 0; place < count; place += 1) expect(body).toContain(`"name":"${toName(place)}"`);
  expect(performance.now() - startedAt).toBeLessThan(LIMIT_MS);
};

const STYLES = ['strict=false', 'strict=true'];

test.each(['openai-chat', 'openai-responses', 'anthropic', 'gemini'])(
  '%s: a catalogue of schemas that combine in 5^60 ways is there soon, strict or not',
  async (format) => {
    for (const style of STYLES) await readCatalogue(all, `format=${format}&${style}`, SCHEMAS.length);
  },
  60_000,
);

test.each(['native', 'mcp'])(
  '%s: a catalogue of schemas that combine in 5^60 ways is there soon, strict or not',
  async (format) => {
    for (const style of STYLES) await readCatalogue(flatter, `format=${format}&${style}`, FLATTER.length);
  },
  60_000,
);

test(
  'a turn of Chat Completions that calls each of them is answered soon',
  async () => {
    const calls = SCHEMAS.map((_, place) => ({
      id: `call_${place}`,
      type: 'function',
      function: { name: toName(place), arguments: '{"x":null}' },
    }));
    const startedAt = performance.now();
    const answer = await fetch(`${all.url}/tool-calls`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ choices: [{ message: { role: 'assistant', tool_calls: calls } }] }),
    });
    const body: unknown = await answer.json();
    expect([answer.status, body]).toEqual([
      200,
      expect.objectContaining({
        results: calls.map(({ id }, index) => expect.objectContaining({ index, id, outcome: 'success' })),
      }),
    ]);
    expect(performance.now() - startedAt).toBeLessThan(LIMIT_MS);
  },
  timeLimit(60_000),
);
