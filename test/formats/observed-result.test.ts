import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { observe, parsedValueOf, readObservedResult, toObservation } from '#src/formats/observation.ts';

// As the executor writes it; test/contract/dialects-golden.test.ts holds that against the real one.
const write = (value: string, more = '"message":"","error":null,"retry":null,"duration_ms":1.25', id: unknown = 'a') =>
  `{"index":0,"id":${JSON.stringify(id)},"name":"x","success":true,"outcome":"success","executed":"yes","value":${value},${more}}`;

const TAIL = '"message":"","error":null,"retry":null,"duration_ms":5';
const HOSTILE = '"success":true,"outcome":"success","executed":"yes","value":{"a":1},"message":""';

test.each([
  ['an object', write('{"a":[1,2]}'), '{"a":[1,2]}'],
  ['a text', write('"hello"'), 'hello'],
  ['a number', write('0'), '0'],
  ['an object that ends as a result does', write(`{"b":1,${TAIL}}`), `{"b":1,${TAIL}}`],
  [
    'such an object before a message',
    write(`{"b":1,${TAIL}}`, '"message":"Hm.","error":null,"retry":null,"duration_ms":1'),
    `Hm.\n{"b":1,${TAIL}}`,
  ],
  ['a text that is written like a result', write(JSON.stringify(HOSTILE)), HOSTILE],
  ['an id that is written like one', write('{"b":2}', undefined, HOSTILE), '{"b":2}'],
  ['an id that ends like a key', write('{"b":3}', undefined, 's":'), '{"b":3}'],
  ['a number for an id', write('{"b":4}', undefined, 7), '{"b":4}'],
  ['an empty object', write('{}'), 'The tool succeeded and returned nothing.'],
  ['a marked one', write('[]', `${TAIL},"empty":true`), 'Nothing was found.'],
] as const)('%s is read as it was written', (_, json, text) => {
  expect(toObservation(readObservedResult(json))).toBe(text);
  expect(parsedValueOf(readObservedResult(json))).toEqual(JSON.parse(json).value);
});

test('whatever the value, id and message, the model is told what the whole JSON says', async () => {
  await fc.assert(
    fc.asyncProperty(fc.jsonValue(), fc.jsonValue(), fc.string(), fc.boolean(), async (value, id, message, empty) => {
      const more = `"message":${JSON.stringify(message)},"error":null,"retry":null,"duration_ms":0.1${empty ? ',"empty":true' : ''}`;
      const json = write(JSON.stringify(value), more, id);
      expect(toObservation(readObservedResult(json))).toBe(toObservation(JSON.parse(json)));
      expect(parsedValueOf(readObservedResult(json))).toEqual(JSON.parse(json).value);
    }),
    { numRuns: 1_000 },
  );
});

test('what a file is told of, and is no medium, is told as the JSON it came as', () => {
  const json = write('{"files":[{"id":"a","mimeType":"text/plain","size":1.0}]}');
  expect(observe(readObservedResult(json))).toEqual({
    text: '{"files":[{"id":"a","mimeType":"text/plain","size":1.0}]}',
    parts: null,
  });
});

test('failures are read whole', () => {
  const json =
    '{"index":0,"id":null,"name":"x","success":false,"outcome":"failed","executed":"yes","value":null,"message":"No.","error":{"code":"tool_failed"},"retry":null,"duration_ms":1}';
  expect(readObservedResult(json)).toEqual(JSON.parse(json));
});

test('a result that was written is read with its media, and parsed for them alone', () => {
  const text = (words: string) => ({ type: 'text', text: words });
  const png = { type: 'image', mimeType: 'image/png', data: 'iVBORw0KGgoAAAANSUhEUgAA' };
  const list = JSON.stringify({ content: [text('Before.'), png, text('After.')] });
  expect(toObservation(readObservedResult(write(list)))).toBe('Before.\nimage/png, 18 bytes, not shown here\nAfter.');
  const plain = readObservedResult(write(JSON.stringify({ content: [text('Before.')] })));
  Object.defineProperty(plain, 'value', {
    get: () => {
      throw new Error('parsed');
    },
  });
  expect(toObservation(plain)).toBe('{"content":[{"type":"text","text":"Before."}]}');
});
