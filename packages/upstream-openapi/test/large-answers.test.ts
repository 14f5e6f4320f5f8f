import { setImmediate as nextTurn } from 'node:timers/promises';
import { answering, startHttpTarget } from '@recourse/test-support/http-target.ts';
import { expect, test } from 'vitest';
import { createAnswerTurns } from '#src/operation-tool.ts';
import { callTool, documentOf, startImport } from './import-lab.ts';

const startAnswering = async (body: string, contentType: string) => {
  const target = await startHttpTarget(answering(200, { 'content-type': contentType }, body));
  const paths = { '/x': { get: { operationId: 'read' }, post: { operationId: 'write' } } };
  const { tool } = await startImport(documentOf(paths), { baseUrl: target.origin });
  return tool;
};

// 100 000 objects, 100 000 commas and the list around them.
const DENSE = `[${'{},'.repeat(100_000)}{}]`;

test('an answer of more than 200 000 values is not parsed: a read asks for less, a write is done', async () => {
  const tool = await startAnswering(DENSE, 'application/json');
  await expect(callTool(tool('read'))).rejects.toMatchObject({
    name: 'RetryableToolError',
    message: "HTTP 200: the API's answer has more than 200000 values and names.",
  });
  expect(await callTool(tool('write'))).toMatchObject({
    value: null,
    message:
      "HTTP 200: done, but the API's answer has more than 200000 values and names and was left out. Do not repeat this call.",
  });
});

test('text with as many commas is text', async () => {
  const text = 'a,'.repeat(200_001);
  const tool = await startAnswering(text, 'text/csv');
  expect(await callTool(tool('read'))).toEqual({ content_type: 'text/csv', text });
});

test('of large answers that come together each is worked on in a turn of its own', async () => {
  const turnFor = createAnswerTurns();
  const turns: number[] = [];
  let turn = 0;
  const asked = [65_536, 1_000_000, 65_535, 1_000_000].map((bytes) => turnFor(bytes).then(() => turns.push(turn)));
  while (turns.length < 4) {
    await nextTurn();
    turn += 1;
  }
  await Promise.all(asked);
  expect(turns[0]).toBe(0);
  expect(new Set(turns.slice(1)).size).toBe(3);
});
