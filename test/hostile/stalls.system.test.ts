import { startProcess } from '@recourse/test-support/start-process.ts';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { runBounded, TEST_MS } from './bounded-run.ts';

// What the loop may stand still is 100 ms. A CI machine runs other processes on the same cores: a probe is slow there, too, while
// the service has nothing to do, so that only many times as much tells a stall from a busy scheduler. On a quiet machine: HOSTILE_LIVE_MS=100.
const MOST_MS = Number(process.env['HOSTILE_LIVE_MS'] ?? 1500);
const BODY_BYTES = 1_000_000;

const repeatTo = (piece: string, bytes: number): string => piece.repeat(Math.max(1, Math.floor(bytes / piece.length)));
const listOf = (piece: string, bytes: number): string => `[${repeatTo(`${piece},`, bytes)}0]`;

/** Texts of JSON of about so many bytes, each of a shape that costs some reader much. */
const SHAPES: Readonly<Record<string, (bytes: number) => string>> = {
  deep: (bytes) => `${'['.repeat(bytes / 2)}${']'.repeat(bytes / 2)}`,
  wide: (bytes) => listOf('0', bytes),
  lists: (bytes) => listOf('[]', bytes),
  objects: (bytes) => listOf('{}', bytes),
  'large floats': (bytes) => listOf('1e300', bytes),
  'one large float': (bytes) => `[1e300,"${'x'.repeat(bytes)}"]`,
  'long numbers': (bytes) => listOf('12345678901234567890', bytes),
  'digits without end': (bytes) => `[${'1'.repeat(bytes)}.5,1e300]`,
  'other spellings': (bytes) => listOf('-0.000E+1,1E400', bytes),
  'equal keys': (bytes) => `{${repeatTo('"a":1,', bytes)}"a":2}`,
  'other keys': (bytes) => `{${Array.from({ length: bytes / 12 }, (_, i) => `"k${i}":${i}`).join(',')}}`,
  'long text': (bytes) => JSON.stringify('x'.repeat(bytes)),
  escapes: (bytes) => `"${repeatTo('\\u0001', bytes)}"`,
  backslashes: (bytes) => `"${repeatTo('\\\\', bytes)}"`,
  quotes: (bytes) => `"${repeatTo('\\"', bytes)}"`,
};

const shape = fc.constantFrom(...Object.keys(SHAPES));
const makeOf = (name: string): ((bytes: number) => string) => SHAPES[name] ?? (() => '0');

/** A batch of any number of calls that share the bytes of a body; names and ids may be what is large. */
const body = fc
  .record({
    shapes: fc.array(shape, { minLength: 1, maxLength: 4 }),
    calls: fc.constantFrom(1, 8, 64, 1000),
    name: fc.constantFrom('echo', 'read_file', 'reed_file', 'x'.repeat(100)),
    large: fc.constantFrom('arguments', 'argument', 'argument text', 'id', 'name', 'beside'),
  })
  .map(({ shapes, calls, name, large }) => {
    const bytes = Math.floor(BODY_BYTES / calls / 2);
    const toCall = (place: number): string => {
      const value = makeOf(shapes[place % shapes.length] ?? 'wide')(Math.max(2, bytes - 100));
      if (large === 'id') return `{"id":${value},"name":"${name}","arguments":{}}`;
      if (large === 'name') return `{"id":${place},"name":${value},"arguments":{}}`;
      if (large === 'argument') return `{"name":"${name}","arguments":{"text":${value},"n":1e300}}`;
      if (large === 'argument text') return `{"name":"${name}","arguments":${JSON.stringify(`{"text":${value}}`)}}`;
      return `{"name":"${name}${place}","arguments":${value}}`;
    };
    const beside = large === 'beside' ? `"more":${makeOf(shapes[0] ?? 'wide')(BODY_BYTES / 2)},` : '';
    return `{${beside}"calls":[${Array.from({ length: calls }, (_, place) => toCall(place)).join(',')}]}`;
  });

test(
  'whatever shape a body has, the service answers it, and answers others meanwhile',
  async () => {
    const service = await startProcess({ by: 'node' });
    const probe = async (): Promise<number> => {
      const startedAt = performance.now();
      expect((await fetch(`${service.url}/live`)).status).toBe(200);
      return performance.now() - startedAt;
    };
    await runBounded(
      fc.asyncProperty(body, async (text) => {
        let isOver = false;
        const sent = fetch(`${service.url}/tool-calls`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: text,
        }).then(async (answer) => {
          await answer.arrayBuffer();
          isOver = true;
          return answer.status;
        });
        let longest = 0;
        while (!isOver) longest = Math.max(longest, await probe());
        expect([200, 400, 413]).toContain(await sent);
        expect(longest).toBeLessThan(MOST_MS);
      }),
    );
  },
  TEST_MS,
);
