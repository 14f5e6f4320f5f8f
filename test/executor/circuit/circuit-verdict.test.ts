import { endOf, SUCCESS } from '@recourse/test-support/circuit-lab.ts';
import { expect, test } from 'vitest';
import { FAILURE_CODES } from '#src/contract/failure.ts';
import { toCircuitVerdict } from '#src/executor/circuit-breakers.ts';

test('a circuit counts faults of the tool and its upstream, and nothing that the model, a rule or the service did', () => {
  const verdicts = Map.groupBy(FAILURE_CODES, (code) => toCircuitVerdict(endOf(code), 'own'));
  expect([...verdicts.keys()].sort()).toEqual(['fault', 'neither']);
  expect(verdicts.get('fault')).toEqual([
    'tool_exception',
    'tool_crashed',
    'out_of_memory',
    'timeout',
    'invalid_output',
    'upstream_rate_limited',
    'upstream_unavailable',
  ]);
});

test('a timeout at a limit that the caller shortened says nothing of the tool; other faults say what they say', () => {
  expect(toCircuitVerdict(endOf('timeout'), 'shortened')).toBe('neither');
  expect(toCircuitVerdict(endOf('tool_exception'), 'shortened')).toBe('fault');
  expect(toCircuitVerdict(endOf('upstream_unavailable'), 'shortened')).toBe('fault');
});

test('every success is one, with nothing found and with a warning of a write tool, too', () => {
  const warning = { code: 'invalid_output', message: 'It breaks the output schema.' };
  expect(toCircuitVerdict(SUCCESS, 'own')).toBe('success');
  expect(toCircuitVerdict(SUCCESS, 'shortened')).toBe('success');
  expect(toCircuitVerdict({ ...SUCCESS, marks: ['empty'] }, 'own')).toBe('success');
  expect(toCircuitVerdict({ ...SUCCESS, valueJson: 'null', warnings: [warning] }, 'own')).toBe('success');
});

test('an exception with a hint tells the model what to do differently, and so is no fault of the tool', () => {
  const end = endOf('tool_exception');
  if (end.kind !== 'failure') throw new Error('It is a failure.');
  const hinted = { ...end, failure: { ...end.failure, hint: 'Call list_files to see what is there.' } };
  expect(toCircuitVerdict(hinted, 'own')).toBe('neither');
});
