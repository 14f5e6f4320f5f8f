import {
  type Answerer,
  answering,
  createInstantClock,
  failureOf,
  startHttpTarget,
} from '@recourse/test-support/http-target.ts';
import type { Effects } from 'recourse-server/internal/contract/failure.ts';
import { classifyThrown } from 'recourse-server/internal/executor/outcome.ts';
import { expect, test } from 'vitest';
import { callTool, documentOf, startImport } from './import-lab.ts';

const DOCUMENT = documentOf({ '/thing': { get: { operationId: 'look' }, post: { operationId: 'search' } } });

/** The operator says it in the import, or of the tool: then it holds for the call alone. */
const startApi = async (answer: Answerer, said: 'in_the_import' | 'of_the_tool', effects: Effects) => {
  const target = await startHttpTarget(answer);
  const settings = said === 'in_the_import' ? { effects: { '*': effects } } : {};
  const { tool } = await startImport(
    DOCUMENT,
    { baseUrl: target.origin, idempotencyKeys: ['*'], ...settings },
    { clock: createInstantClock() },
  );
  const call = (name: string) => callTool(tool(name), {}, { effects, idempotencyKey: 'key-1' });
  const failed = async (name: string) => {
    const { outcome, executed } = classifyThrown(await failureOf(call(name)), { ...tool(name), effects }, 'on');
    return { outcome, executed };
  };
  return { target, call, failed };
};

const hangUp: Answerer = (response) => {
  response.destroy();
};

test.each([
  ['503', 'in_the_import', answering(503)],
  ['503', 'of_the_tool', answering(503)],
  ['a lost answer', 'in_the_import', hangUp],
  ['a lost answer', 'of_the_tool', hangUp],
] as const)('a GET that is called a write is sent once: %s, said %s', async (_, said, answer) => {
  const { target, failed } = await startApi(answer, said, 'write');
  expect(await failed('look')).toEqual({ outcome: 'unknown', executed: 'maybe' });
  expect(target.requests).toHaveLength(1);
});

test.each(['in_the_import', 'of_the_tool'] as const)(
  'a GET that is called a write is answered as one, said %s',
  async (said) => {
    const broken = await startApi(answering(200, { 'content-type': 'application/json' }, '{"id":'), said, 'write');
    expect(await broken.call('look')).toMatchObject({ value: null, message: expect.stringContaining('Do not repeat') });
    const empty = await startApi(answering(204), said, 'write');
    expect(await empty.call('look')).toMatchObject({ message: 'HTTP 204: done; the API answered without content.' });
    const moved = await startApi(answering(302, { location: '/other' }), said, 'write');
    expect(await moved.failed('look')).toEqual({ outcome: 'unknown', executed: 'maybe' });
    expect(moved.target.requests.map(({ headers }) => headers['idempotency-key'])).toEqual(['key-1']);
  },
);

test.each(['in_the_import', 'of_the_tool'] as const)(
  'a POST that is called a read is sent once and answered as a read, said %s',
  async (said) => {
    const { target, failed, call } = await startApi(answering(503), said, 'read');
    expect(await failed('search')).toEqual({ outcome: 'retry', executed: 'maybe' });
    expect(target.requests).toHaveLength(1);
    await failureOf(call('look'));
    expect(target.requests).toHaveLength(4);
    expect(target.requests.some(({ headers }) => 'idempotency-key' in headers)).toBe(false);
  },
);
