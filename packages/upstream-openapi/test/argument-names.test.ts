import { answering, startHttpTarget } from '@recourse/test-support/http-target.ts';
import { expect, test } from 'vitest';
import { callTool, documentOf, startImport } from './import-lab.ts';

const start = async (names: readonly string[]) => {
  const target = await startHttpTarget(answering(204));
  const parameters = names.map((name) => ({ name, in: 'query', schema: { type: 'string' } }));
  const document = documentOf({ '/x': { get: { operationId: 'call', parameters } } });
  const { tool } = await startImport(document, { baseUrl: target.origin });
  return { target, tool: tool('call') };
};

test('a parameter whose name no provider carries is asked for under one that they do, and sent under its own', async () => {
  const { target, tool } = await start(['filter[status]', '$top', 'page.size']);
  expect(Object.keys(Object(tool.inputSchema['properties']))).toEqual(['filter_status', 'top', 'page.size']);
  await callTool(tool, { filter_status: 'open', top: '5', 'page.size': '2' });
  expect(target.requests[0]?.path).toBe('/x?filter%5Bstatus%5D=open&%24top=5&page.size=2');
});

test('two parameters that would then share a name are kept apart', async () => {
  const { target, tool } = await start(['a[b]', 'a_b']);
  await callTool(tool, { a_b: '1', a_b_query: '2' });
  expect(target.requests[0]?.path).toBe('/x?a%5Bb%5D=1&a_b=2');
});
