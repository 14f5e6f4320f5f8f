import { timeLimit } from '@recourse/test-support/time-limit.ts';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { RedactedIn } from '#src/executor/redactor.ts';
import { createRedactor } from '#src/redaction/service-redactor.ts';

// As a password is that was meant to be hard: everything that any spelling would write in another way.
const HARD = 'p"a\\ss wö/rd+%=&?\t😀~*(\'!)>';
const PLAIN = 'kx3vQ81nUzT5';

const redactor = createRedactor({ secrets: [HARD, PLAIN] });

const base64Of = (text: string): string => Buffer.from(text).toString('base64');

const SPELLINGS: readonly (readonly [how: string, write: (secret: string) => string])[] = [
  ['as it is', (secret) => secret],
  ['in JSON', (secret) => JSON.stringify(secret)],
  ['in JSON within JSON', (secret) => JSON.stringify(JSON.stringify(secret))],
  [
    'in JSON of ASCII alone',
    (secret) =>
      JSON.stringify(secret).replace(
        /[\u0080-\uffff]/g,
        (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
      ),
  ],
  ['in a URL', encodeURIComponent],
  [
    'in a URL with small hex digits',
    (secret) => encodeURIComponent(secret).replace(/%../g, (sign) => sign.toLowerCase()),
  ],
  ['in a query', (secret) => encodeURIComponent(secret).replaceAll('%20', '+')],
  ['in a form', (secret) => new URLSearchParams({ secret }).toString()],
  ['in a path', (secret) => encodeURIComponent(secret).replaceAll('%2F', '/')],
  ['in Base64', base64Of],
  ['in Base64 after one byte', (secret) => base64Of(`x${secret}`)],
  ['in Base64 after two bytes', (secret) => base64Of(`xy${secret}`)],
  ['in Base64 with more behind it', (secret) => base64Of(`${secret} and more`)],
  ['as a Basic credential', (secret) => `Basic ${base64Of(`user:${secret}`)}`],
  ['in Base64 for URLs', (secret) => Buffer.from(`a:${secret}`).toString('base64url')],
  ['in Base64 in a URL', (secret) => encodeURIComponent(base64Of(`ab:${secret}`))],
];

/** Nothing of eight characters is left, but what would stand around any secret. */
const expectGone = (shown: string, secret: string, write: (secret: string) => string): void => {
  const written = write(secret);
  const around = write('Z'.repeat(Buffer.byteLength(secret)));
  expect(shown).toContain('[redacted]');
  for (let start = 0; start + 8 <= written.length; start += 1) {
    const piece = written.slice(start, start + 8);
    if (!around.includes(piece)) expect(shown).not.toContain(piece);
  }
};

test.each(SPELLINGS)('a registered value is found %s', (_how, write) => {
  for (const secret of [HARD, PLAIN]) {
    const written = write(secret);
    expectGone(redactor.text(`before ${written} behind`, 'result'), secret, write);
    expectGone(redactor.cutToolText(`before ${written} behind`, Number.POSITIVE_INFINITY, 'result'), secret, write);
    const json = JSON.stringify({ value: { list: [`before ${written} behind`] } });
    for (const shown of [redactor.log(json), redactor.value(json, 'result')]) {
      expect(JSON.parse(shown)).toHaveProperty('value.list.0');
      expectGone(shown, secret, write);
    }
  }
});

test('it is replaced in values, keys and numbers, and the text stays JSON', () => {
  const digits = createRedactor({ secrets: ['83651927', 'abc"def"ghi'] });
  const json =
    '{"abc\\"def\\"ghi":83651927,"n":[-1.5e10,183651927.5,12345678901234567890],"t":"x 83651927","a":1,"a":2}';
  expect(digits.value(json, 'result')).toBe(
    '{"[redacted]":"[redacted]","n":[-1.5e10,"1[redacted].5",12345678901234567890],"t":"x [redacted]","a":1,"a":2}',
  );
});

test('a value that holds nothing is the same text', () => {
  const json = '{"a":"…","b":"sk-abcdefghijklmnopqrstuvwx","c":1e400}';
  expect(redactor.value(json, 'result')).toBe(json);
  expect(createRedactor({ secrets: [] }).value(json, 'result')).toBe(json);
});

test('a value is not changed by the shape of what it holds, a failure and a log line are', () => {
  const json = '{"v":"postgres://bob:hunter2@db/x"}';
  expect(redactor.value(json, 'result')).toBe(json);
  expect(redactor.cutToolText('postgres://bob:hunter2@db/x', Number.POSITIVE_INFINITY, 'result')).toBe(
    'postgres://bob:hunter2@db/x',
  );
  expect(redactor.text('postgres://bob:hunter2@db/x', 'result')).toBe('postgres://[redacted]@db/x');
  expect(redactor.log(json)).toBe('{"v":"postgres://[redacted]@db/x"}');
});

test('what only begins like a registered value comes out as it went in, whatever stands behind it', () => {
  for (let length = 1; length < PLAIN.length; length += 1) {
    const text = `${PLAIN.slice(0, length)}… and ${PLAIN.slice(-length)}`;
    expect(redactor.text(text, 'result')).toBe(text);
    expect(redactor.cut(`${PLAIN.slice(0, length)}${'-'.repeat(99)}`, 20, 'journal')).toBe(
      `${PLAIN.slice(0, length)}${'-'.repeat(19 - length)}…`,
    );
    const line = `{"call_id":"${text}"}`;
    expect(redactor.log(line)).toBe(line);
  }
});

test('a text is redacted before it is cut, wherever the cut goes through a value', () => {
  for (let before = 80; before <= 100; before += 1) {
    const cut = redactor.cut(`${'y'.repeat(before)}${PLAIN}${'z'.repeat(9000)}`, 100, 'journal');
    expect(cut.length).toBeLessThanOrEqual(100);
    expect(cut.replace(/^y+(?:\[redacted\])?z*…$/, '')).toBe('');
  }
});

test('what became short makes no room for a value that is cut off further on', () => {
  const long = 'kx3v'.repeat(500);
  const two = createRedactor({ secrets: [long, PLAIN] });
  const cut = two.cut(`${long}${long}${long}`.slice(0, 2000 + 3000), 100, 'result');
  expect(cut).toBe('[redacted]…');
});

test('what the caller itself sent stays in its answer, and everything else is replaced', () => {
  const two = createRedactor({ secrets: [HARD, PLAIN] });
  const sent = () => JSON.stringify({ q: PLAIN });
  expect(two.text(`${PLAIN} and ${HARD}`, 'result', sent)).toBe(`${PLAIN} and [redacted]`);
  expect(two.value(JSON.stringify([PLAIN, HARD]), 'result', sent)).toBe(`["${PLAIN}","[redacted]"]`);
  expect(two.cutToolText(`${PLAIN} and ${HARD}`, 100, 'result', sent)).toBe(`${PLAIN} and [redacted]`);
});

test('of two values that begin alike the longer is replaced whole', () => {
  const two = createRedactor({ secrets: ['abcdefgh', 'abcdefghijkl'] });
  expect(two.text('abcdefghijkl abcdefgh', 'result')).toBe('[redacted] [redacted]');
});

test('values of fewer than eight characters are not registered', () => {
  expect(createRedactor({ secrets: ['hunter2', '', '  hunter2  '] }).text('hunter2', 'result')).toBe('hunter2');
});

test('a value of several lines is found line by line, and one of JSON by its secret members', () => {
  const key = `-----BEGIN KEY-----\n${'a1b2c3d4'.repeat(8)}\nZ9y8X7w6\n-----END KEY-----`;
  const account = JSON.stringify({ type: 'service_account', private_key: key, client_email: 'bob@example.com' });
  for (const secret of [key, account]) {
    const one = createRedactor({ secrets: [secret] });
    expect(one.text(`line ${'a1b2c3d4'.repeat(8)}`, 'log')).toBe('line [redacted]');
    expect(one.text('Z9y8X7w6', 'log')).toBe('[redacted]');
    expect(one.text('-----BEGIN KEY----- service_account bob@example.com', 'log')).toBe(
      '-----BEGIN KEY----- service_account bob@example.com',
    );
  }
});

test('each text that held something counts once, by where it was going', () => {
  const places: RedactedIn[] = [];
  const counting = createRedactor({ secrets: [PLAIN], onRedacted: (place) => places.push(place) });
  counting.text(`${PLAIN} ${PLAIN}`, 'span');
  counting.text('nothing', 'span');
  counting.value(`{"v":"${PLAIN}"}`, 'result');
  counting.log('{"v":"sk-abcdefghijklmnopqrstuvwx"}');
  expect(places).toEqual(['span', 'result', 'log']);
});

test('whatever a text holds around a value, it is found, and JSON stays JSON', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary', minLength: 8, maxLength: 40 }).filter((secret) => secret.trim().length >= 8),
      fc.string({ unit: 'binary' }),
      fc.string({ unit: 'binary' }),
      fc.jsonValue(),
      (secret, before, behind, other) => {
        const any = createRedactor({ secrets: [secret] });
        const text = `${before}${secret.toWellFormed()}${behind}`;
        expect(any.cutToolText(text, Number.POSITIVE_INFINITY, 'result')).not.toBe(text);
        const json = JSON.stringify({ [text]: [text, other], more: { text } });
        const shown: unknown = JSON.parse(any.value(json, 'result'));
        expect(JSON.stringify(shown)).not.toContain(JSON.stringify(secret.toWellFormed()).slice(1, -1));
      },
    ),
    { numRuns: 500 },
  );
});

test('a megabyte takes no time to speak of, whatever it holds', () => {
  const long = Array.from({ length: 60 }, (_, place) => `line ${place} of a long/secret+`.repeat(3)).join('\n');
  const secrets = [long, ...Array.from({ length: 50 }, (_, place) => `${PLAIN}${place}secret`)];
  const many = createRedactor({ secrets });
  const texts = ['…', `${PLAIN}…`, 'kx3v', PLAIN.slice(0, 11), 'x'].map((piece) =>
    piece.repeat(1_000_000 / piece.length),
  );
  const began = performance.now();
  for (const text of texts) many.log(JSON.stringify({ text }));
  expect(performance.now() - began).toBeLessThan(timeLimit(20_000));
});
