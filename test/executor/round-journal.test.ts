import { expect, test } from 'vitest';
import {
  type BatchEntries,
  type BatchEntry,
  type JournalCall,
  PLAIN_SUCCESS,
  readEntries,
  toArgumentsText,
  toBatchEntry,
} from '#src/executor/journal-line.ts';
import type { RedactedIn } from '#src/executor/redactor.ts';
import { createRoundJournal, createUnpackRound } from '#src/executor/round-journal.ts';
import { toDigest } from '#src/json/canonical-text.ts';
import { createRedactor } from '#src/redaction/service-redactor.ts';

const toCall = (index: number, more: Partial<JournalCall> = {}): JournalCall => ({
  index,
  kind: 'ready',
  tool: 'read',
  readable: true,
  hiding: null,
  end: PLAIN_SUCCESS,
  durationMs: 1.2345,
  ...more,
});

const toJournal = (
  asked: string | readonly BatchEntry[],
  calls: readonly JournalCall[],
  secrets: readonly string[] = [],
) => {
  const seen: RedactedIn[] = [];
  const redactor = createRedactor({ secrets, onRedacted: (place) => void seen.push(place) });
  const entries = typeof asked === 'string' ? readEntries(asked).map(toBatchEntry) : asked;
  const known: BatchEntries = {
    size: entries.length,
    entryOf: (index) => entries[index] ?? { id: null, name: null, rawArguments: undefined },
    argumentsOf: (index) => {
      const call = calls.find((one) => one.index === index);
      if (call?.kind !== 'ready') return null;
      const text = toArgumentsText(entries[index]?.rawArguments, call.readable);
      return { text, fingerprint: toDigest(`${call.tool}\n${text}`) };
    },
  };
  const body = typeof asked === 'string' ? asked : null;
  const journal = createRoundJournal({ step: 3, time: 0, requestId: 'r1', body, calls, redactor }, known);
  return { journal, redactor, seen };
};

/** A journal as it is after its batch; `entries` are what the batch knows of it. */
const createRound = (...round: Parameters<typeof toJournal>) => {
  const { journal, redactor, seen } = toJournal(...round);
  const during = journal.render();
  journal.release();
  return { journal, during, redactor, seen };
};

const toBody = (...calls: readonly unknown[]): string => JSON.stringify({ session_id: 's', calls });
const PLAIN = toBody({ id: 'a', name: 'read', arguments: { b: 1, a: 'x' } });

test('a line is rendered from the text of the body, byte for byte as it is read', () => {
  const { journal } = createRound(PLAIN, [toCall(0)]);
  expect(journal.lines).toBe(1);
  expect(journal.render()).toEqual([
    {
      tool: 'read',
      json:
        '{"step":3,"time":"1970-01-01T00:00:00.000Z","request_id":"r1","index":0,"id":"a","tool":"read","name":"read",' +
        '"fingerprint":"f7556c7596ff3c5312460e5fffac84b817c491703abcba5124fa1b9dfb2cbd2b",' +
        '"arguments":"{\\"a\\":\\"x\\",\\"b\\":1}","success":true,"outcome":"success","executed":"yes",' +
        '"code":null,"fault":null,"message":"","duration_ms":1.23}',
    },
  ]);
});

test.each([
  ['an object', { b: 1, a: 'x' }, true],
  ['a text of an object', '{"b":1e0,"a":"x"}', true],
  ['blank', ' ', true],
  ['left out', undefined, true],
  ['null', null, true],
  ['no JSON', '{"b":', false],
  ['a list', [1, { z: 1, a: 2 }], false],
  ['a text that is refused', '{"__proto__":{},"a":12345678901234567890}', false],
])('entries of a message read as those of a body do: arguments are %s', (_what, given, readable) => {
  const entries = [
    { id: 7, name: 'read', rawArguments: given },
    { id: 'x', name: ' ', rawArguments: undefined },
    { id: null, name: null, rawArguments: undefined },
  ];
  const calls = [
    toCall(0, { readable }),
    toCall(1, { kind: 'refused', tool: null }),
    toCall(2, { kind: 'refused', tool: null }),
  ];
  const body = toBody({ id: 7, name: 'read', arguments: given }, { id: 'x', name: ' ' }, 'no object');
  expect(createRound(entries, calls).journal.render()).toEqual(createRound(body, calls).journal.render());
  expect(createRound(entries, calls).during).toEqual(createRound(body, calls).journal.render());
});

test('a clean round keeps little more than its body; other ends and their messages weigh as well', () => {
  const plain = createRound(PLAIN, [toCall(0)]).journal.bytes;
  expect(plain).toBeLessThan(PLAIN.length + 700);
  const end = { ...PLAIN_SUCCESS, success: false, outcome: 'failed', message: 'm'.repeat(1000) } as const;
  expect(createRound(PLAIN, [toCall(0, { end })]).journal.bytes).toBeGreaterThan(plain + 1000);
});

const SECRET = 'correct horse battery staple';

test.each([
  ['a registered value', toBody({ name: 'read', arguments: { q: SECRET } }), '[redacted]'],
  ['the shape of one', toBody({ name: 'read', arguments: { q: 'sk-abcdefghijklmnopqrstuv' } }), '[redacted key]'],
])('a body with %s is redacted at once, counted once, and not again when it is read', (_what, body, shown) => {
  const { journal, seen } = createRound(body, [toCall(0)], [SECRET]);
  expect(seen).toEqual(['journal']);
  expect(journal.render()[0]?.json).toContain(shown);
  expect(journal.render()[0]?.json).not.toMatch(/correct horse|abcdefghijkl/);
  expect(seen).toEqual(['journal']);
});

test('a value that is registered after the round is redacted when the round is read', () => {
  const { journal, redactor } = createRound(toBody({ name: 'read', arguments: { q: SECRET } }), [toCall(0)]);
  redactor.register([SECRET]);
  expect(journal.render()[0]?.json).toContain('{\\"q\\":\\"[redacted]\\"}');
});

test('what a schema marks as sensitive is hidden', () => {
  const hiding = { type: 'object', properties: { q: { type: 'string', sensitive: true } } };
  const { journal } = createRound(toBody({ name: 'read', arguments: { q: 'mine', n: 1 } }), [toCall(0, { hiding })]);
  expect(journal.render()[0]?.json).toContain('"arguments":"{\\"n\\":1,\\"q\\":\\"(hidden)\\"}"');
});

/** What a shared store is given of a round, and what it shows of that later. */
const packRound = (...round: Parameters<typeof toJournal>) => {
  const { journal, redactor } = toJournal(...round);
  const packed = journal.pack();
  journal.release();
  return { packed, shown: packed === null ? null : createUnpackRound(redactor)(packed) };
};

test.each([
  ['an object', { b: 1, a: 'x' }],
  ['a text of an object', '{"b":1e0,"a":"x"}'],
  ['blank', ' '],
  ['left out', undefined],
  ['null', null],
  ['a lone surrogate', { a: '\ud800' }],
])('a packed round shows what a rendered one does: arguments are %s', (_what, given) => {
  const body = toBody({ id: 7, name: 'read', arguments: given }, { name: 'Read', arguments: {} });
  const { packed, shown } = packRound(body, [toCall(0), toCall(1)]);
  expect(packed).not.toContain('"s"');
  expect(shown).toEqual(createRound(body, [toCall(0), toCall(1)]).journal.render());
});

test('a packed round is read with the secrets of who reads it', () => {
  const { packed } = packRound(toBody({ name: 'read', arguments: { q: SECRET } }), [toCall(0)]);
  const [line] = createUnpackRound(createRedactor({ secrets: [SECRET] }))(packed ?? '');
  expect(line?.json).toContain('{\\"q\\":\\"[redacted]\\"}');
});

const HIDING = { type: 'object', properties: { q: { type: 'string', sensitive: true } } };
const FAILED = { ...PLAIN_SUCCESS, success: false, outcome: 'failed', message: 'no' } as const;

test.each([
  ['holds a registered value', { q: SECRET }, {}],
  ['holds one with escapes in a text', '{"q":"\\u0073k-abcdefghijklmnopqrstuv"}', {}],
  ['holds the shape of a secret', { q: 'sk-abcdefghijklmnopqrstuv' }, {}],
  ['has arguments that are marked as sensitive', { q: 'mine' }, { hiding: HIDING }],
  ['failed', { q: 'a' }, { end: FAILED }],
  ['cannot be read', '{"q":', { readable: false }],
  ['is longer than a line', { q: 'x'.repeat(1000) }, {}],
])('a round is not packed whose call %s', (_what, given, more) => {
  expect(packRound(toBody({ name: 'read', arguments: given }), [toCall(0, more)], [SECRET]).packed).toBe(null);
});
