import { startHttpTarget } from '@recourse/test-support/http-target.ts';
import { expect, test } from 'vitest';
import { OpenApiImportSettings } from '#src/openapi-import-settings.ts';
import { callTool, documentOf, startImport } from './import-lab.ts';

const text = { type: 'string' };
const PATHS = {
  '/{account}/messages': {
    parameters: [
      { name: 'account', in: 'path', required: true, schema: text },
      { name: 'X-Version', in: 'header', required: true, schema: text },
      { name: 'debug', in: 'query', schema: { type: 'boolean' } },
      { name: 'page', in: 'query', required: true, schema: { type: 'integer', default: 1 } },
    ],
    get: { operationId: 'list' },
    post: {
      operationId: 'send',
      requestBody: {
        required: true,
        content: {
          'application/json': {
            schema: { type: 'object', required: ['from', 'text'], properties: { from: text, text, trace: text } },
          },
        },
      },
    },
    put: {
      operationId: 'replace',
      requestBody: {
        content: {
          'application/json': {
            schema: { type: 'object', required: ['from', 'text'], properties: { from: text, text } },
          },
        },
      },
    },
  },
};
const PARAMETERS = [
  { name: 'account', value: 'AC1' },
  { name: 'x-version', in: 'header', value: '2026' },
  { name: 'from', in: 'body', value: '+1' },
  { name: 'trace', hidden: true },
  { name: 'debug', hidden: true, operations: ['list'] },
  { name: 'page', hidden: true },
];

test('parameters that the settings give are sent with each call, and no model is told of them', async () => {
  const bodies: string[] = [];
  const target = await startHttpTarget((response) => {
    let body = '';
    response.req
      .on('data', (chunk) => (body += chunk))
      .on('end', () => {
        bodies.push(body);
        response.writeHead(204).end();
      });
  });
  const { tool } = await startImport(documentOf(PATHS), { baseUrl: `${target.origin}/v1`, parameters: PARAMETERS });
  const namesOf = (name: string) => Object.keys(Object(tool(name).inputSchema['properties']));
  expect([namesOf('list'), namesOf('send'), namesOf('replace')]).toEqual([[], ['debug', 'text'], ['debug', 'body']]);
  expect(Object(tool('replace').inputSchema['properties']).body).toEqual({
    type: 'object',
    required: ['text'],
    properties: { text },
  });
  await callTool(tool('list'));
  await callTool(tool('send'), { text: 'hi' });
  await callTool(tool('replace'), { body: { text: 'hi' } });
  expect(target.requests.map(({ method, path, headers }) => [method, path, headers['x-version']])).toEqual([
    ['GET', '/v1/AC1/messages?page=1', '2026'],
    ['POST', '/v1/AC1/messages?page=1', '2026'],
    ['PUT', '/v1/AC1/messages?page=1', '2026'],
  ]);
  expect(bodies).toEqual(['', '{"text":"hi","from":"+1"}', '{"text":"hi","from":"+1"}']);
  expect((await tool('send').prepare({ text: 'hi', from: '+2' })).ok).toBe(false);
});

test('what the API demands cannot be hidden without a value', async () => {
  const { offer } = await startImport(documentOf(PATHS), {
    baseUrl: 'http://127.0.0.1:9',
    include: ['send'],
    parameters: [{ name: 'text', hidden: true }],
  });
  expect(offer().unavailable.map(({ reason }) => reason)).toEqual([
    'Its parameter text is required, but the settings hide it without a value.',
  ]);
});

test('a parameter is given a value or hidden, not both and not neither', () => {
  const parse = (rule: unknown) => OpenApiImportSettings.safeParse({ document: 'a', parameters: [rule] }).success;
  expect([{ name: 'a' }, { name: 'a', value: 1, hidden: true }, { name: 'a', value: null }].map(parse)).toEqual([
    false,
    false,
    true,
  ]);
});
