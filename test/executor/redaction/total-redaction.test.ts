import { expect, test } from 'vitest';
import { ToolResult } from '#src/contract/tool-result.ts';
import { createRedactor } from '#src/executor/redaction/redactor.ts';

// No string makes it fail, so what is given is none: as bad as an expression that V8 does not take.
const nothing = JSON.parse('null');

test('what cannot be redacted is redacted whole, and counted', () => {
  const places: string[] = [];
  const redactor = createRedactor({ secrets: ['kx3vQ81nUzT5'], onRedacted: (place) => places.push(place) });
  expect(redactor.text(nothing, 'span')).toBe('[redacted]');
  expect(redactor.json(nothing, 'journal')).toBe('{}');
  expect(redactor.json(nothing, 'log')).toBe('{"level":50,"msg":"[redacted]"}\n');
  expect(places).toEqual(['span', 'journal', 'log']);
});

test('a result that cannot be redacted is an internal error, a value is one word, a schema says nothing', () => {
  const redactor = createRedactor({ secrets: ['kx3vQ81nUzT5'] });
  expect(redactor.said(nothing, 'result')).toBe('[redacted]');
  expect(redactor.value(nothing, 'result')).toBe('"[redacted]"');
  expect(redactor.schema(nothing, 'result')).toBe('{}');
  expect(ToolResult.parse(JSON.parse(redactor.registered(nothing, 'result')))).toMatchObject({
    index: 0,
    outcome: 'failed',
    executed: 'maybe',
    value: null,
    error: { code: 'internal_error' },
  });
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
const RESULT =
  `{"index":7,"id":"call_7","name":"x","success":true,"outcome":"success","executed":"yes","value":"${BAD}",` +
  '"message":"","error":null,"retry":null,"duration_ms":1}';

test('one text of a result that cannot be redacted is redacted whole, and the rest stays', () => {
  const redactor = createRedactor({ secrets: ['kx3vQ81nUzT5'] });
  const shown = failingAt(
    (text) => text === BAD,
    () => redactor.registered(RESULT, 'result'),
  );
  expect(shown).toBe(RESULT.replace(BAD, '[redacted]'));
});

test('a result that cannot be read keeps its place, and says nothing of what was in it', () => {
  const redactor = createRedactor({ secrets: ['kx3vQ81nUzT5'] });
  const shown = failingAt(
    (text) => text.includes(BAD),
    () => redactor.registered(RESULT, 'result'),
  );
  expect(ToolResult.parse(JSON.parse(shown))).toMatchObject({ index: 7, error: { code: 'internal_error' } });
  expect(shown).not.toContain('kx3v');
});
