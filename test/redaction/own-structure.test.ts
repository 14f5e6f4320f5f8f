import { expect, test } from 'vitest';
import { createRedactor } from '#src/redaction/service-redactor.ts';

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

test('nothing of a value is spared because it looks like what the service says', () => {
  const shown: unknown = JSON.parse(
    redactor.value(
      '{"index":12345678,"error":{"code":"tool_exception"},"retry":{"duration_ms":86400000},"n":12345678901}',
      'result',
    ),
  );
  expect(shown).toEqual({
    index: '[redacted]',
    error: { code: '[redacted]' },
    retry: { '[redacted]_ms': '[redacted]' },
    n: '[redacted]901',
  });
});

test('a log line keeps its own names and numbers; what a tool puts into it has none', () => {
  const line =
    '{"level":40,"time":"2025-11-21T10:00:00.000Z","call_id":12345678,"code":"tool_exception","duration_ms":86400000,' +
    '"fields":{"duration":12345678,"code":"exception"},"msg":"an exception"}\n';
  expect(redactor.log(line)).toBe(
    '{"level":40,"time":"2025-11-21T10:00:00.000Z","call_id":"[redacted]","code":"tool_exception","duration_ms":86400000,' +
      '"fields":{"[redacted]":"[redacted]","code":"[redacted]"},"msg":"an [redacted]"}\n',
  );
});

test('a name of a log line that is none of the service is redacted, too', () => {
  const one = createRedactor({ secrets: ['kx3vQ81nUzT5', 'duration'] });
  expect(one.log('{"kx3vQ81nUzT5":1,"duration_ms":2,"a":{"duration_ms":3}}\n')).toBe(
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
