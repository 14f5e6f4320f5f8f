import { ALL_FORMATS } from '@recourse/test-support/formats/all-formats.ts';
import { readAnswers, writeTurn } from '@recourse/test-support/formats/conversation.ts';
import { failed, retriesLeft, succeeded } from '@recourse/test-support/formats/results.ts';
import fc from 'fast-check';
import { FAILURE_CODES } from 'recourse-server/internal/contract/failure.ts';
import type { ToolResult } from 'recourse-server/internal/contract/tool-result.ts';
import { expect, test } from 'vitest';
import { DIALECTS } from '#src/dialects.ts';
import { explainResult } from '#src/observation.ts';

const CALLS = fc.array(
  fc.record({
    id: fc.string({ unit: 'binary', minLength: 1 }),
    name: fc.string({ minLength: 1 }),
    arguments: fc.dictionary(fc.string(), fc.jsonValue()),
  }),
  { maxLength: 5 },
);

// A tool may answer what a failure looks like. Where the provider has no flag it is read as one: left out here.
const isPlain = (text: string): boolean => !text.startsWith('ERROR: ');
const TEXT = fc
  .oneof(fc.string({ unit: 'binary' }), fc.constantFrom('', ' ', 'Two\nlines ', 'a\r\n\u2028b'))
  .filter(isPlain);
const WARNINGS = fc.array(fc.record({ code: fc.constant('duplicate_id'), message: TEXT }), {
  minLength: 1,
  maxLength: 2,
});

const SUCCESS: fc.Arbitrary<ToolResult> = fc
  .tuple(
    fc.oneof(TEXT, fc.jsonValue()),
    TEXT,
    fc.record({ empty: fc.constant(true), warnings: WARNINGS }, { requiredKeys: [] }),
  )
  .map(([value, message, more]) => succeeded(value, { message, ...more }))
  .filter((result) => isPlain(explainResult(result)));

const FAILURE: fc.Arbitrary<ToolResult> = fc
  .record({
    message: fc.string({ minLength: 1 }),
    code: fc.constantFrom(...FAILURE_CODES),
    hint: fc.option(fc.string()),
    outcome: fc.constantFrom('retry', 'failed', 'refused', 'unknown'),
    executed: fc.constantFrom('yes', 'no', 'maybe'),
    remaining: fc.option(fc.nat(3)),
    waitMs: fc.option(fc.nat(100_000)),
  })
  .map(({ message, code, hint, outcome, executed, remaining, waitMs }) =>
    failed(
      message,
      { code, hint, retry_after_ms: waitMs },
      { outcome, executed, retry: remaining === null ? null : retriesLeft(remaining) },
    ),
  );

test.for(ALL_FORMATS)('%s: what is written as a turn is read back as the same calls', (format) => {
  const dialect = DIALECTS.get(format);
  fc.assert(
    fc.property(CALLS, (calls) => {
      const read = dialect?.parse(JSON.parse(JSON.stringify(writeTurn(format, calls))))?.calls ?? [];
      const given = read.map((call) => Object(call));
      expect(given.map(({ id, name }) => ({ id, name }))).toEqual(calls.map(({ id, name }) => ({ id, name })));
      const asObjects = given.map((call) =>
        typeof call.arguments === 'string' ? JSON.parse(call.arguments) : call.arguments,
      );
      expect(asObjects).toEqual(JSON.parse(JSON.stringify(calls.map((call) => call.arguments))));
    }),
    { numRuns: 120 },
  );
});

// Vapi reads no more than one line.
const toOneLine = (text: string): string =>
  text
    .split(/[\n\r\v\f\u0085\u2028\u2029]/)
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join(' ');

test.for(ALL_FORMATS)('%s: ids, order, success and text survive the messages', (format) => {
  const dialect = DIALECTS.get(format);
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.string({ minLength: 1 }), fc.oneof(SUCCESS, FAILURE)), { minLength: 1, maxLength: 5 }),
      (pairs) => {
        const turn = dialect?.parse(
          writeTurn(
            format,
            pairs.map(([id]) => ({ id, name: 'echo', arguments: {} })),
          ),
        );
        const messages = turn?.toMessages(pairs.map(([, result]) => result)) ?? [];
        const raw: unknown = JSON.parse(JSON.stringify(messages));
        const answers = readAnswers(format, Array.isArray(raw) ? raw : []);
        expect(answers.map(({ success, text }) => ({ success, text }))).toEqual(
          pairs.map(([, result]) => ({
            success: result.success,
            text: format === 'vapi' ? toOneLine(explainResult(result)) : explainResult(result),
          })),
        );
        expect(answers.map(({ id }) => id)).toEqual(pairs.map(([id]) => (format === 'text' ? null : id)));
        for (const { text } of answers) expect(text.trim()).not.toBe('');
      },
    ),
    { numRuns: 120 },
  );
});

test('a success that reads as a failure is kept apart wherever the provider has a flag', () => {
  const call = { id: 'call_1', name: 'echo', arguments: {} };
  const flags = ALL_FORMATS.map((format) => {
    const messages =
      DIALECTS.get(format)
        ?.parse(writeTurn(format, [call]))
        ?.toMessages([succeeded('ERROR: timeout: 3')]) ?? [];
    return [format, readAnswers(format, messages)[0]?.success];
  });
  expect(Object.fromEntries(flags)).toEqual({
    'openai-chat': false,
    'openai-responses': false,
    'openai-realtime': false,
    anthropic: true,
    gemini: true,
    bedrock: true,
    mistral: false,
    cohere: false,
    ollama: false,
    'ai-sdk': true,
    vapi: true,
    langchain: true,
    text: true,
  });
});
