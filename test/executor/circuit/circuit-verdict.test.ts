import { expect, test } from 'vitest';
import { FAILURE_CODES } from '#src/contract/failure.ts';
import { toCircuitVerdict } from '#src/executor/circuit/circuit-verdict.ts';
import { endOf, SUCCESS } from './circuit-lab.ts';

test('a circuit counts faults of the tool and its upstream, and nothing that the model, a rule or the service did', () => {
  const verdicts = Object.fromEntries(FAILURE_CODES.map((code) => [code, toCircuitVerdict(endOf(code), 'own')]));
  expect(verdicts).toEqual({
    invalid_call: 'neither',
    unknown_tool: 'neither',
    invalid_arguments: 'neither',
    retry_requested: 'neither',
    tool_failed: 'neither',
    tool_exception: 'fault',
    tool_crashed: 'fault',
    out_of_memory: 'fault',
    timeout: 'fault',
    invalid_output: 'fault',
    output_too_large: 'neither',
    upstream_rate_limited: 'fault',
    upstream_unavailable: 'fault',
    not_authorized: 'neither',
    retry_budget_exhausted: 'neither',
    call_limit_exceeded: 'neither',
    loop_detected: 'neither',
    circuit_open: 'neither',
    not_executed: 'neither',
    cancelled: 'neither',
    outcome_unknown: 'neither',
    overloaded: 'neither',
    shutting_down: 'neither',
    store_unavailable: 'neither',
    internal_error: 'neither',
  });
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
