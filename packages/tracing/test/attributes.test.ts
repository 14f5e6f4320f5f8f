import { NO_ARGUMENTS, toEvent } from '@recourse/test-support/traced-calls.ts';
import { createRedactor } from 'recourse-server/internal/redaction/service-redactor.ts';
import { expect, test } from 'vitest';
import { findStatusMessage, toCallAttributes } from '#src/request-trace.ts';

const redactor = createRedactor({ secrets: [] });
const KEPT = { cutText: (text: string, limit: number) => redactor.cut(text, limit, 'span'), content: 'kept' } as const;
const ARGUMENTS = 'gen_ai.tool.call.arguments';
const RESULT = 'gen_ai.tool.call.result';
const SECRET = 'sk-abcdefghijklmnop0123456789';

const contentOf = (text: string): { given: unknown; result: unknown } => {
  const answer = { argumentsText: () => text, retry: null };
  const attributes = toCallAttributes(toEvent({ valueJson: text }), answer, KEPT);
  return { given: attributes[ARGUMENTS], result: attributes[RESULT] };
};

test('content is cut at 8 192 characters', () => {
  expect(contentOf('x'.repeat(8192)).given).toHaveLength(8192);
  expect(contentOf('x'.repeat(8193)).result).toHaveLength(8192);
  expect(contentOf('x'.repeat(10_000_000)).result).toHaveLength(8192);
});

test('a secret that the cut goes through is redacted whole', () => {
  const { given, result } = contentOf(`${'x '.repeat(4091)}${SECRET}`);
  expect([given, result].every((text) => String(text).length <= 8192 && !String(text).includes('sk-'))).toBe(true);
});

test('half a secret is not shown where those before it became short', () => {
  const secrets = `${SECRET} `.repeat(3000);
  expect(secrets.length).toBeGreaterThan(65_536);
  for (let shift = 0; shift < SECRET.length; shift += 1) {
    const text = String(contentOf(`${' '.repeat(shift)}${secrets}`).given);
    expect(text.replaceAll('[redacted key]', '').trim()).toBe('…');
  }
});

test('arguments are not even made where content is left out', () => {
  const answer = {
    argumentsText: () => {
      throw new Error('asked for');
    },
    retry: null,
  };
  const attributes = toCallAttributes(toEvent(), answer, { ...KEPT, content: 'left_out' });
  expect(Object.keys(attributes)).not.toContain(ARGUMENTS);
  expect(Object.keys(attributes)).not.toContain(RESULT);
});

test('a call that had no arguments, a failure without a payload and a replay have none of it', () => {
  const failed = toEvent({
    success: false,
    outcome: 'retry',
    code: 'unknown_tool',
    fault: 'caller',
    valueJson: 'null',
  });
  const attributes = toCallAttributes(failed, { argumentsText: () => null, retry: null }, KEPT);
  expect(Object.keys(attributes)).not.toContain(ARGUMENTS);
  expect(Object.keys(attributes)).not.toContain(RESULT);
  const replayed = toCallAttributes(toEvent({ replayed: true }), NO_ARGUMENTS, KEPT);
  expect(Object.keys(replayed)).not.toContain(RESULT);
  const payload = toCallAttributes({ ...failed, valueJson: '{"seen":1}' }, NO_ARGUMENTS, KEPT);
  expect(payload[RESULT]).toBe('{"seen":1}');
});

test('ids are redacted, and left out from 257 characters on', () => {
  const idOf = (callId: string | number | null) =>
    toCallAttributes(toEvent({ callId }), NO_ARGUMENTS, KEPT)['gen_ai.tool.call.id'];
  expect(idOf(`call of ${SECRET}`)).toBe('call of [redacted key]');
  expect(idOf('x'.repeat(256))).toHaveLength(256);
  expect(idOf('x'.repeat(257))).toBeUndefined();
  expect([idOf(0), idOf(''), idOf(null)]).toEqual(['0', undefined, undefined]);
});

test('a message is redacted before it is cut at 300 characters', () => {
  const message = `${'x'.repeat(280)} ${SECRET} ${'y'.repeat(100)}`;
  expect(findStatusMessage(toEvent({ message }), KEPT)).toBe(`${'x'.repeat(280)} [redacted key]…`);
});

test('a fatal failure says so', () => {
  const failed = toEvent({ success: false, outcome: 'failed', code: 'tool_exception', fault: 'tool', fatal: true });
  expect(toCallAttributes(failed, NO_ARGUMENTS, KEPT)).toMatchObject({
    'error.type': 'tool_exception',
    'recourse.fault': 'tool',
    'recourse.fatal': true,
  });
});
