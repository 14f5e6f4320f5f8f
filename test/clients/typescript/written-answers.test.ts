import { DIALECTS } from '@recourse/dialects/dialects';
import { explainResult, readObservedResult } from '@recourse/dialects/observation';
import { failed, succeeded } from '@recourse/test-support/formats/results.ts';
import { expect, test } from 'vitest';
import { toEndedResult } from '#src/executor/render-result.ts';
import { readCalls, toFingerprint } from '../../../clients/typescript/src/read-calls.ts';
import { writeAnswers } from '../../../clients/typescript/src/write-answers.ts';
import { MESSAGES } from '../contract/answered-messages.ts';

test.each(MESSAGES)('the client writes answers to %s (%s) as the service does', (_what, format, message) => {
  const turn = DIALECTS.get(format)?.parse(message);
  const calls = readCalls(message);
  for (const result of [failed('It broke.'), succeeded('Done.')]) {
    const observed = readObservedResult(toEndedResult(JSON.stringify(result)));
    const answers = calls.map((call) => ({ call, text: explainResult(observed), isError: !result.success }));
    expect(writeAnswers(format, answers)).toEqual(turn?.toMessages(calls.map(() => observed)));
  }
  expect(calls.length).toBe(turn?.calls.length);
});

test('a call is the same whether its arguments are an object or JSON, and whatever the order of their members', () => {
  const same = [{ item: 'lamp', of: { a: 1, b: [2] } }, '{"of":{"b":[2],"a":1},"item":"lamp"}'];
  const prints = same.map((given) => toFingerprint({ name: 'order', arguments: given }));
  expect(new Set(prints).size).toBe(1);
  const others = [
    { name: 'order', arguments: { item: 'lamp', of: { a: 1, b: [3] } } },
    { name: 'order', arguments: { item: 'lamp', of: { a: '1', b: [2] } } },
    { name: 'other', arguments: same[0] },
    { name: 'order', arguments: '{"item":' },
    { name: 'order' },
  ];
  expect(new Set([...prints, ...others.map(toFingerprint)]).size).toBe(1 + others.length);
  expect(toFingerprint({ name: 'order' })).toBe(toFingerprint({ name: 'order', arguments: {} }));
});
