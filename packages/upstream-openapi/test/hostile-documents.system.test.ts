import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';
import { documentOf, startImport } from './import-lab.ts';

const BASE = { baseUrl: 'http://127.0.0.1:9' };
const HEAD = "openapi: 3.1.0\ninfo: {title: t, version: '1'}\npaths: {}\n";

test.each([
  [
    'empty objects',
    `{"openapi":"3.1.0","paths":{},"x":[${'{},'.repeat(1_100_000)}{}]}`,
    'The document has more than 2000000 values and names: remove what is not needed.',
  ],
  [
    'lists in YAML',
    `${HEAD}x: [${'[],'.repeat(210_000)}[]]`,
    'The document is YAML with too many values: convert it to JSON.',
  ],
  [
    'aliases of a large list',
    `${HEAD}x: &a [${'xxxxx,'.repeat(30_000)}x]\ny: [${Array.from({ length: 90 }, () => '*a').join(',')}]`,
    'The document cannot be parsed: its aliases expand to too many values',
  ],
])('a document of %s is refused, and the one before serves', async (_, text, reason) => {
  const { source, folder, offer } = await startImport(documentOf({ '/a': { get: { operationId: 'a' } } }), BASE, {
    refreshMs: 20,
  });
  await folder.write('openapi.json', text);
  await expect.poll(() => source.state().reason, { timeout: timeLimit(20_000) }).toBe(reason);
  expect(offer().tools.map(({ name }) => name)).toEqual(['a']);
});

test('while a document of YAML is parsed other work has its turns', async () => {
  const paths = Array.from({ length: 4_000 }, (_, one) => `  /o${one}: {get: {operationId: o${one}}}`).join('\n');
  let longestMs = 0;
  let before = performance.now();
  const turning = setInterval(() => {
    longestMs = Math.max(longestMs, performance.now() - before);
    before = performance.now();
  }, 1);
  const begun = performance.now();
  const { offer } = await startImport(HEAD.replace('paths: {}', `paths:\n${paths}`), BASE);
  clearInterval(turning);
  expect(offer().tools).toHaveLength(4_000);
  expect(longestMs).toBeLessThan((performance.now() - begun) / 3);
});

const described = (operationId: string, description: string) => ({
  get: { operationId, parameters: [{ name: 'q', in: 'query', description, schema: { type: 'string' } }] },
});

test('an operation whose schema is larger than 256 KiB is unavailable, wherever its text stands', async () => {
  const large = 'word '.repeat(60_000);
  const parameterOf = (schema: unknown) => ({ get: { parameters: [{ name: 'q', in: 'query', schema }] } });
  const { offer } = await startImport(
    documentOf({
      '/description': described('description', large),
      '/default': parameterOf({ default: { a: [large] } }),
      '/enum': parameterOf({ enum: Array.from({ length: 30_000 }, (_, one) => one) }),
      '/name': parameterOf({ type: 'object', properties: { [large]: {} } }),
      '/good': { get: { operationId: 'good' } },
    }),
    BASE,
  );
  expect(offer().tools.map(({ name }) => name)).toEqual(['good']);
  expect(offer().unavailable.map(({ reason }) => reason)).toEqual(
    Array.from({ length: 4 }, () => 'Its schema is larger than 256 KiB, or has more than 20000 values.'),
  );
});

test('the schemas of one import come to 16 MiB: a text that all operations share does not fill the catalogue', async () => {
  const values = Array.from({ length: 6_000 }, (_, one) => `v${String(one).padStart(6, '0')}`);
  const parameters = [{ name: 'q', in: 'query', schema: { type: 'string', enum: values } }];
  const paths = Object.fromEntries(
    Array.from({ length: 300 }, (_, one) => [
      `/o${one}`,
      { get: { operationId: `o${one}`, parameters: [{ $ref: '#/components/parameters/q' }] } },
    ]),
  );
  const { offer } = await startImport(documentOf(paths, { components: { parameters: { q: parameters[0] } } }), BASE);
  expect(offer().tools).toHaveLength(280);
  expect(offer().unavailable[0]?.reason).toBe(
    'The schemas of the preceding operations use up the limit of 16 MiB. Select operations with include and exclude.',
  );
});
