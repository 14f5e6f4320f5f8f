import { expect, test } from 'vitest';
import { callTool, documentOf, startImport } from './import-lab.ts';

const BASE = { baseUrl: 'http://127.0.0.1:9' };
const asks = (schema: unknown) => ({
  '/a': { get: { operationId: 'a', parameters: [{ name: 'q', in: 'query', schema }] } },
});

const WIDE = Object.fromEntries(Array.from({ length: 4_000 }, (_, one) => [`p${one}`, { type: 'string' }]));

test('a pattern that takes its length times that of the text is cut off, and the arguments are refused', async () => {
  const { tool } = await startImport(documentOf(asks({ type: 'string', pattern: `${'a'.repeat(15_000)}?` })), BASE);
  await expect(callTool(tool('a'), { q: 'a'.repeat(200_000) })).rejects.toThrow(
    'the arguments could not be checked against the schema in time; send simpler ones',
  );
});

test('a schema that no validator can be made of refuses arguments, the same each time', async () => {
  const { tool } = await startImport(documentOf(asks({ type: 'object', properties: WIDE })), {
    ...BASE,
    maxSchemaBytes: 1_048_576,
  });
  for (const _ of [1, 2])
    await expect(callTool(tool('a'), { q: { p1: 'x' } })).rejects.toThrow("this operation's schema cannot be compiled");
});
