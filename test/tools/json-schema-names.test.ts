import { expect, test } from 'vitest';
import { defineTool } from '#src/tools/define-tool.ts';

const tool = defineTool({
  name: 'names',
  description: 'Takes members whose names every object inherits.',
  effects: 'read',
  input: {
    type: 'object',
    properties: { constructor: { type: 'string' }, toString: { type: 'string' }, valueOf: { type: 'string' } },
    required: ['toString'],
  },
  run: (input) => input,
});

test('an optional member called like one that every object inherits may be left out', async () => {
  expect(await tool.prepare({ toString: 'here' })).toMatchObject({ ok: true });
});

test('a required one that is only inherited is missing', async () => {
  expect(await tool.prepare({ constructor: 'here' })).toMatchObject({ ok: false, issues: [{ path: 'toString' }] });
});
