import { expect, test } from 'vitest';
import { createRedactor } from '#src/redaction/service-redactor.ts';

// No string makes it fail, so what is given is none: as bad as an expression that V8 does not take.
const nothing = JSON.parse('null');

test('what cannot be redacted is redacted whole, and counted', () => {
  const places: string[] = [];
  const redactor = createRedactor({ secrets: ['kx3vQ81nUzT5'], onRedacted: (place) => places.push(place) });
  expect(redactor.text(nothing, 'span')).toBe('[redacted]');
  expect(redactor.cut(nothing, 10, 'journal')).toBe('[redacted]');
  expect(redactor.log(nothing)).toBe('{"level":50,"msg":"[redacted]"}\n');
  expect(places).toEqual(['span', 'journal', 'log']);
});

test('a value that cannot be redacted is one word, a schema says nothing', () => {
  const redactor = createRedactor({ secrets: ['kx3vQ81nUzT5'] });
  expect(redactor.cutToolText(nothing, 10, 'result')).toBe('[redacted]');
  expect(redactor.value(nothing, 'result')).toBe('"[redacted]"');
  expect(redactor.schema(nothing, 'result')).toBe('{}');
});

/** Fails at some texts, as an expression that is too deep would. */
const failingAt = <Result>(isBad: (text: string) => boolean, work: () => Result): Result => {
  const { slice } = String.prototype;
  const failing: typeof slice = function (this: string, ...range) {
    if (isBad(this.toString())) throw new Error(`no: ${this}`);
    return slice.apply(this, range);
  };
  try {
    String.prototype.slice = failing;
    return work();
  } finally {
    String.prototype.slice = slice;
  }
};

const BAD = 'kx3vQ81nUzT5 bad';
const VALUE = `{"index":7,"text":"${BAD}","n":1}`;

test('one text of a value that cannot be redacted is redacted whole, and the rest stays', () => {
  const redactor = createRedactor({ secrets: ['kx3vQ81nUzT5'] });
  const shown = failingAt(
    (text) => text === BAD,
    () => redactor.value(VALUE, 'result'),
  );
  expect(shown).toBe(VALUE.replace(BAD, '[redacted]'));
});

test('a value that cannot be read is redacted whole', () => {
  const redactor = createRedactor({ secrets: ['kx3vQ81nUzT5'] });
  const shown = failingAt(
    (text) => text.includes(BAD),
    () => redactor.value(VALUE, 'result'),
  );
  expect(shown).toBe('"[redacted]"');
});
