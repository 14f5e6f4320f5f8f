import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { askTurn, bodyOf, postTurn } from '@recourse/test-support/dialect-client.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';

const EXAMPLES = join(import.meta.dirname, '../../openapi/examples/formats');
const Golden = z.looseObject({
  request: z.unknown(),
  results: z.array(z.looseObject({ id: z.unknown(), name: z.unknown() })),
  messages: z.array(z.unknown()),
});

let service: RunningService;

beforeAll(async () => {
  service = await startService();
});

afterAll(() => service.stop());

/** The shape of a JSON value: its keys, and how many of each there are; texts and numbers stand for themselves no more. */
const toShape = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(toShape);
  if (typeof value !== 'object' || value === null) return typeof value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, toShape(member)]));
};

/** Without what depends on how a call ends: its text, and the flags for a failure. */
const toSkeleton = (messages: readonly unknown[]): unknown =>
  JSON.parse(
    JSON.stringify(messages, (key, value: unknown) =>
      ['is_error', 'status', 'response', 'result', 'error'].includes(key) ? undefined : value,
    ),
  );

const FILES = globSync('*/*.json', { cwd: EXAMPLES }).sort();

test('there are examples of all thirteen formats', () => {
  expect(new Set(FILES.map((file) => file.split('/')[0])).size).toBe(13);
});

test.each(FILES)(
  '%s: the whole service answers every call of it, under its id and in the shape of the example',
  async (file) => {
    const [format = ''] = file.split('/');
    const golden = Golden.parse(JSON.parse(readFileSync(join(EXAMPLES, file), 'utf8')));
    const answer = await askTurn(service, golden.request, format === 'text' ? '?format=text' : '');
    expect(answer.format).toBe(format);
    expect(answer.results.map(({ id, name }) => ({ id, name }))).toEqual(
      golden.results.map(({ id, name }) => ({ id, name })),
    );
    expect(toShape(toSkeleton(answer.messages))).toEqual(toShape(toSkeleton(golden.messages)));
    const raw = bodyOf(await postTurn(service, golden.request, `?format=${format}&raw=true`));
    const messages = format === 'vapi' ? z.object({ results: z.unknown() }).parse(raw).results : raw;
    expect(toShape(messages)).toEqual(toShape(answer.messages));
  },
);
