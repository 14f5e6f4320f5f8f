import { postTurn, TurnAnswer } from '@recourse/test-support/dialect-client.ts';
import { toBodyArbitrary } from '@recourse/test-support/formats/body-arbitrary.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';

let service: RunningService;

beforeAll(async () => {
  service = await startService({ MAX_DEADLINE_MS: '2000', MAX_BATCH_CALLS: '4', MAX_BODY_BYTES: '4194304' });
});

afterAll(() => service.stop());

const FORMATS = ['openai-chat', 'openai-responses', 'anthropic', 'gemini', 'vapi', 'langchain', 'text'] as const;
type Format = (typeof FORMATS)[number];

// JSON texts, for JSON.stringify would drop a `__proto__` and refuse what is too deep.
type Parts = { readonly id?: string; readonly name?: string; readonly given?: string };

const asText = (json: string): string => JSON.stringify(json);

/** One call with these JSON texts in its places, in the format's body. `given`: arguments, as text where it has text. */
const TO_BODY: Readonly<Record<Format, (parts: Parts) => string>> = {
  'openai-chat': ({ id = '"c"', name = '"echo"', given = '{}' }) =>
    `{"role":"assistant","tool_calls":[{"id":${id},"type":"function","function":{"name":${name},"arguments":${asText(given)}}}]}`,
  'openai-responses': ({ id = '"c"', name = '"echo"', given = '{}' }) =>
    `[{"type":"function_call","call_id":${id},"name":${name},"arguments":${asText(given)}}]`,
  anthropic: ({ id = '"c"', name = '"echo"', given = '{}' }) =>
    `[{"type":"tool_use","id":${id},"name":${name},"input":${given}}]`,
  gemini: ({ id = '"c"', name = '"echo"', given = '{}' }) =>
    `{"role":"model","parts":[{"functionCall":{"id":${id},"name":${name},"args":${given}}}]}`,
  vapi: ({ id = '"c"', name = '"echo"', given = '{}' }) =>
    `{"message":{"type":"tool-calls","toolCallList":[{"id":${id},"name":${name},"arguments":${given}}]}}`,
  langchain: ({ id = '"c"', name = '"echo"', given = '{}' }) =>
    `[{"type":"tool_call","id":${id},"name":${name},"args":${given}}]`,
  text: ({ id = '"c"', name = '"echo"', given = '{}' }) =>
    `{"calls":[{"id":${id},"name":${name},"arguments":${given}}]}`,
};

const DEEP = `{"text":${'['.repeat(5000)}${']'.repeat(5000)}}`;
const DEEP_OBJECT = `${'{"a":'.repeat(5000)}null${'}'.repeat(5000)}`;
const HUGE_ID = `"${'x'.repeat(1_000_000)}"`;

const HOSTILE: readonly (readonly [what: string, parts: Parts])[] = [
  ['arguments nested 5 000 deep', { given: DEEP }],
  ['objects nested 5 000 deep that end in null', { given: DEEP_OBJECT }],
  ['__proto__ in the arguments', { given: '{"text":"a","__proto__":{"text":null}}' }],
  ['constructor.prototype in the arguments', { given: '{"constructor":{"prototype":null},"text":null}' }],
  ['numbers that lose digits', { given: '{"text":12345678901234567890123,"a":null,"b":1e400}' }],
  ['arguments that are an array', { given: '[null]' }],
  ['arguments that are null', { given: 'null' }],
  ['arguments that are a number', { given: '7' }],
  ['a lone surrogate', { given: '{"text":"\\ud800"}', id: '"\\udfff"' }],
  ['an id of a megabyte', { id: HUGE_ID }],
  ['an id that is an object', { id: '{"__proto__":1}' }],
  ['an id that is a number that lost digits', { id: '12345678901234567890123' }],
  ['an id of line ends and NUL', { id: '"\\r\\n\\u0000\\u001b[31m"' }],
  ['an empty id', { id: '""' }],
  ['a name that is null', { name: 'null' }],
  ['a name that is an array', { name: '["echo"]' }],
  ['a name that is blank', { name: '" "' }],
  ['a name of a megabyte', { name: HUGE_ID }],
  ['the name __proto__', { name: '"__proto__"' }],
];

const ALL = FORMATS.flatMap((format) => HOSTILE.map(([what, parts]) => [format, what, parts] as const));

test.each(ALL)('%s: %s: one call, one result, one message', async (format, _what, parts) => {
  const sent = TO_BODY[format](parts);
  const answer = await postTurn(service, sent, format === 'text' ? '?format=text' : '');
  expect({ status: answer.status, body: answer.status === 200 ? '' : answer.body.slice(0, 500) }).toEqual({
    status: 200,
    body: '',
  });
  const { results, messages, format: told } = TurnAnswer.parse(JSON.parse(answer.body));
  expect([told, results.length, messages.length]).toEqual([format, 1, 1]);
  expect(results[0]?.error?.code).not.toBe('internal_error');
  expect((await postTurn(service, sent, `?raw=true&format=${format}`)).status).toBe(200);
});

test.each(FORMATS)('%s: calls that share their id are each answered', async (format) => {
  const one = JSON.parse(TO_BODY[format]({ given: '{"text":"a"}' }));
  const other = JSON.parse(TO_BODY[format]({ given: '{"text":"b"}' }));
  const answer = await postTurn(service, mergeTurns(one, other), `?format=${format}&raw=false`);
  const { results } = TurnAnswer.parse(JSON.parse(answer.body));
  expect(results.map(({ id, value }) => [id, value])).toEqual([
    ['c', { text: 'a' }],
    ['c', { text: 'b' }],
  ]);
});

/** The lists of both, in one; everything else of the first. */
const mergeTurns = (one: unknown, other: unknown): unknown => {
  if (Array.isArray(one) && Array.isArray(other)) return [...one, ...other];
  if (typeof one !== 'object' || one === null || typeof other !== 'object' || other === null) return one;
  return Object.fromEntries(
    Object.entries(one).map(([key, value]) => [key, mergeTurns(value, Reflect.get(other, key))]),
  );
};

const QUERIES = fc.oneof(
  { weight: 3, arbitrary: fc.constant('') },
  { weight: 3, arbitrary: fc.constantFrom(...FORMATS, 'native').map((format) => `?format=${format}`) },
  { weight: 1, arbitrary: fc.constantFrom(...FORMATS).map((format) => `?format=${format}&raw=true`) },
);

const mayBeAnswered = new Set([200, 400]);

test('whatever the body and the format: 200 or 400, as many messages as the dialect gives, and nothing breaks', async () => {
  const seen = new Map<string, number>();
  const property = fc.asyncProperty(toBodyArbitrary(), QUERIES, async (body, query) => {
    const answer = await postTurn(service, JSON.stringify(body), query);
    const key = `${answer.status} ${query === '' ? 'detected' : 'named'}`;
    seen.set(key, (seen.get(key) ?? 0) + 1);
    expect({ ok: mayBeAnswered.has(answer.status), status: answer.status }).toMatchObject({ ok: true });
    const said: unknown = JSON.parse(answer.body);
    if (answer.status === 400) expect(said).toMatchObject({ status: 400, detail: expect.stringMatching(/./) });
  });
  await fc.assert(property, { numRuns: 1500, seed: 20_261_121 });
  for (const key of ['200 detected', '400 detected', '200 named', '400 named'])
    expect(seen.get(key)).toBeGreaterThan(20);
  expect(await service.metric('recourse_contract_violations_total')).toBe(0);
  expect(service.logLines().filter(({ level }) => Number(level) >= 50)).toEqual([]);
});

test.each(FORMATS)('%s: a turn with any one value replaced by anything is answered', async (format) => {
  const sent = TO_BODY[format]({ given: '{"text":"a"}' });
  const places = [...sent.matchAll(/"(?:[^"\\]|\\.)*"|\[|\{/g)].filter(
    ({ index }) => sent[index - 1] === ':' || sent[index - 1] === '[',
  );
  const junk = ['null', '7', '""', '[]', '{}', 'true', '"x"', '[null]', '{"__proto__":[]}', '1e400'];
  for (const { index, 0: token } of places.filter(([token]) => token.startsWith('"')))
    for (const value of junk) {
      const mutated = `${sent.slice(0, index)}${value}${sent.slice(index + token.length)}`;
      const answer = await postTurn(service, mutated, `?format=${format}`);
      expect({ mutated, ok: mayBeAnswered.has(answer.status) }).toEqual({ mutated, ok: true });
    }
});
