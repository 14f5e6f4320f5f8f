import { writeMcpTools } from '@recourse/dialects/catalogue/write-catalogue';
import type { ToolDescription } from 'recourse-server/internal/contract/tool-description.ts';
import { expect, test } from 'vitest';

const TOOL: ToolDescription = {
  name: 'files.read-1',
  description: 'Reads a file.',
  effects: 'read',
  input_schema: { type: 'object', properties: { path: { type: 'string' } } },
  output_schema: null,
  limits: { timeout_ms: 1000, retries: 3, concurrency: null, max_calls_per_session: null },
  available: true,
  unavailable_reason: null,
  source: 'builtin',
};

test('a tool is listed under its own name, with its schema and what its effects tell', () => {
  expect(
    writeMcpTools([TOOL, { ...TOOL, name: 'b', effects: 'write' }, { ...TOOL, name: 'c', effects: 'idempotent' }]),
  ).toEqual([
    {
      name: 'files.read-1',
      description: 'Reads a file.',
      inputSchema: { type: 'object', properties: { path: { type: 'string' } } },
      annotations: { readOnlyHint: true },
    },
    expect.objectContaining({
      name: 'b',
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false },
    }),
    expect.objectContaining({
      name: 'c',
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true },
    }),
  ]);
});

test('a schema that does not say that it is of an object is said to be', () => {
  const anyOf = [{ properties: { a: {} } }, { properties: { b: {} } }];

  expect(writeMcpTools([{ ...TOOL, input_schema: { anyOf } }])).toMatchObject([
    { inputSchema: { type: 'object', anyOf } },
  ]);
  const type = ['object', 'null'];
  expect(writeMcpTools([{ ...TOOL, input_schema: { type } }])).toMatchObject([{ inputSchema: { type: 'object' } }]);
  expect(writeMcpTools([{ ...TOOL, input_schema: {} }])).toMatchObject([{ inputSchema: { type: 'object' } }]);
});

test('an output schema is listed where it is one of an object, and only there', () => {
  const output_schema = { type: 'object', properties: { id: { type: 'number' } } };

  expect(writeMcpTools([{ ...TOOL, output_schema }])).toMatchObject([{ outputSchema: output_schema }]);
  for (const other of [{ type: 'array' }, { anyOf: [output_schema] }, { type: ['object', 'null'] }, {}])
    expect(writeMcpTools([{ ...TOOL, output_schema: other }])[0]).not.toHaveProperty('outputSchema');
});
