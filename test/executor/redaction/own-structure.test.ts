import { expect, test } from 'vitest';
import { ToolResult } from '#src/contract/tool-result.ts';
import { toJournalEntries } from '#src/executor/journal/journal-lines.ts';
import { createRedactor } from '#src/executor/redaction/redactor.ts';

// Each is a part of what the service itself says, and may be a bad password all the same.
const WORDS = [
  'exception',
  'duration',
  'expected',
  'received',
  '86400000',
  '12345678',
  'retry_af',
  'tool_exc',
  'rate_limi',
];
const redactor = createRedactor({ secrets: [...WORDS, '2025-11-21', 'identical', '"success"', 'null,"id"'] });

const result = (value: string): string =>
  '{"index":12345678,"id":12345678,"name":"no_exception","success":false,"outcome":"retry","executed":"maybe",' +
  `"value":${value},"message":"the exception","error":{"code":"tool_exception","type":"MyException exception",` +
  '"hint":"wait for the duration","issues":[{"path":"expected","expected":"a duration","received":"86400000",' +
  '"message":"expected a duration"}],"retry_after_ms":86400000,"fatal":false,"reference":"01K"},"retry":{"allowed":true,' +
  '"limit":86400000,"used":12345678,"remaining":1,"limited_by":"tool","scope":"session","mode":"memory"},' +
  '"duration_ms":12345678.5,"warnings":[{"code":"identical_call","message":"identical answers"}]}';

test('a secret that is a word of the contract is taken out of its texts and values, and the contract holds', () => {
  const shown = redactor.registered(
    result('{"duration":86400000,"error":{"code":"exception"},"a":["expected",1]}'),
    'result',
  );
  expect(ToolResult.parse(JSON.parse(shown))).toEqual({
    index: 12_345_678,
    id: '[redacted]',
    name: 'no_[redacted]',
    success: false,
    outcome: 'retry',
    executed: 'maybe',
    value: { '[redacted]': '[redacted]', error: { code: '[redacted]' }, a: ['[redacted]', 1] },
    message: 'the [redacted]',
    error: {
      code: 'tool_exception',
      type: 'MyException [redacted]',
      hint: 'wait for the [redacted]',
      issues: [
        { path: '[redacted]', expected: 'a [redacted]', received: '[redacted]', message: '[redacted] a [redacted]' },
      ],
      retry_after_ms: 86_400_000,
      fatal: false,
      reference: '01K',
    },
    retry: {
      allowed: true,
      limit: 86_400_000,
      used: 12_345_678,
      remaining: 1,
      limited_by: 'tool',
      scope: 'session',
      mode: 'memory',
    },
    duration_ms: 12_345_678.5,
    warnings: [{ code: 'identical_call', message: '[redacted] answers' }],
  });
});

test('nothing of a value is spared because it looks like a result', () => {
  const inner = result('null');
  const shown: unknown = JSON.parse(redactor.registered(result(inner), 'result'));
  expect(shown).toHaveProperty('value.error.[redacted]ter_ms', '[redacted]');
  expect(shown).toHaveProperty('value.error.code', '[redacted]');
  const other: unknown = JSON.parse(redactor.value(inner, 'result'));
  expect(other).toMatchObject({ index: '[redacted]', error: { code: '[redacted]' } });
});

test('a journal line stays one that can be read', () => {
  const line =
    '{"step":12345678,"time":"2025-11-21T10:00:00.000Z","request_id":"an-exception-of-mine","index":0,"id":12345678,' +
    '"tool":"no_exception","name":"an exception","fingerprint":"a12345678b","arguments":"{\\"duration\\":1}","success":false,' +
    '"outcome":"retry","executed":"yes","code":"tool_exception","fault":"tool","message":"exception",' +
    '"duration_ms":12345678,"retries_left":12345678}';
  const late =
    '{"late_of":{"request_id":"an-exception-of-mine","index":0},"late":{"time":"2025-11-21T10:00:01.000Z","outcome":"retry",' +
    '"executed":"yes","code":"tool_exception","message":"a late exception"}}';
  expect(toJournalEntries([line, late].map((one) => redactor.json(one, 'journal')))).toEqual([
    {
      step: 12_345_678,
      time: '2025-11-21T10:00:00.000Z',
      request_id: 'an-[redacted]-of-mine',
      index: 0,
      id: '[redacted]',
      tool: 'no_exception',
      name: 'an [redacted]',
      fingerprint: 'a12345678b',
      arguments: '{"[redacted]":1}',
      success: false,
      outcome: 'retry',
      executed: 'yes',
      code: 'tool_exception',
      fault: 'tool',
      message: '[redacted]',
      duration_ms: 12_345_678,
      retries_left: 12_345_678,
      late: {
        time: '2025-11-21T10:00:01.000Z',
        outcome: 'retry',
        executed: 'yes',
        code: 'tool_exception',
        message: 'a late [redacted]',
      },
    },
  ]);
});

test('a log line keeps its own names and numbers; what a tool puts into it has none', () => {
  const line =
    '{"level":40,"time":"2025-11-21T10:00:00.000Z","call_id":12345678,"code":"tool_exception","duration_ms":86400000,' +
    '"fields":{"duration":12345678,"code":"exception"},"msg":"an exception"}\n';
  expect(redactor.json(line, 'log')).toBe(
    '{"level":40,"time":"2025-11-21T10:00:00.000Z","call_id":"[redacted]","code":"tool_exception","duration_ms":86400000,' +
      '"fields":{"[redacted]":"[redacted]","code":"[redacted]"},"msg":"an [redacted]"}\n',
  );
});

test('a name of a log line that is none of the service is redacted, too', () => {
  const one = createRedactor({ secrets: ['kx3vQ81nUzT5', 'duration'] });
  expect(one.json('{"kx3vQ81nUzT5":1,"duration_ms":2,"a":{"duration_ms":3}}\n', 'log')).toBe(
    '{"[redacted]":1,"duration_ms":2,"a":{"[redacted]_ms":3}}\n',
  );
});

test('a schema keeps its keywords', () => {
  const one = createRedactor({ secrets: ['required', 'additional', 'minLength'] });
  expect(
    one.schema(
      '{"required":["required"],"additionalProperties":false,"description":"required","minLength":1}',
      'result',
    ),
  ).toBe('{"required":["[redacted]"],"additionalProperties":false,"description":"[redacted]","minLength":1}');
});
