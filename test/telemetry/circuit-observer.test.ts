import { createLogLines } from '@recourse/test-support/log-lines.ts';
import { expect, test } from 'vitest';
import { createCallObserver, createCircuitObserver } from '#src/telemetry/call-metrics.ts';
import { createMetrics } from '#src/telemetry/metrics.ts';

const createSubject = () => {
  const metrics = createMetrics('0.0.0');
  const { log, lines } = createLogLines();
  const states = async (): Promise<readonly string[]> =>
    (await metrics.registry.metrics()).split('\n').filter((line) => line.startsWith('recourse_circuit_state'));
  return {
    circuits: createCircuitObserver({
      metrics,
      log,
      toolsOf: (upstream) => (upstream === 'mcp:files' ? ['files_read', 'files_write'] : []),
    }),
    calls: createCallObserver({ metrics, log, maxTools: 1, now: () => 0 }),
    lines,
    states,
  };
};

test('the circuit of every tool that is offered is exported as closed before it has one', async () => {
  const { calls, states } = createSubject();
  calls.toolsOffered([
    { name: 'one', effects: 'read' },
    { name: 'two', effects: 'write' },
  ]);
  expect(await states()).toEqual(['recourse_circuit_state{tool="one"} 0', 'recourse_circuit_state{tool="two"} 0']);
});

test('the gauge follows a circuit through its states, and tools that appear meanwhile change nothing of it', async () => {
  const { calls, circuits, states } = createSubject();
  calls.toolsOffered([{ name: 'one', effects: 'read' }]);
  circuits.circuitChanged('one', 'open');
  calls.toolsOffered([
    { name: 'one', effects: 'read' },
    { name: 'two', effects: 'read' },
  ]);
  expect(await states()).toEqual(['recourse_circuit_state{tool="one"} 2', 'recourse_circuit_state{tool="two"} 0']);
  circuits.circuitChanged('one', 'half_open');
  expect(await states()).toContain('recourse_circuit_state{tool="one"} 1');
  circuits.circuitChanged('one', 'closed');
  expect(await states()).toContain('recourse_circuit_state{tool="one"} 0');
});

test('each change is one line, and a warning where a circuit opens', () => {
  const { circuits, lines } = createSubject();
  circuits.circuitChanged('one', 'open');
  circuits.circuitChanged('one', 'half_open');
  circuits.circuitChanged('one', 'closed');
  expect(lines).toEqual([
    { level: 'warn', tool: 'one', state: 'open', msg: 'circuit changed' },
    { level: 'info', tool: 'one', state: 'half_open', msg: 'circuit changed' },
    { level: 'info', tool: 'one', state: 'closed', msg: 'circuit changed' },
  ]);
});

test('the circuit that tools of an upstream share shows on each of them, and is one line', async () => {
  const { calls, circuits, states, lines } = createSubject();
  calls.toolsOffered([
    { name: 'files_read', effects: 'read' },
    { name: 'files_write', effects: 'write' },
  ]);
  circuits.circuitChanged('mcp:files', 'open');
  expect(await states()).toEqual([
    'recourse_circuit_state{tool="files_read"} 2',
    'recourse_circuit_state{tool="files_write"} 2',
  ]);
  expect(lines).toEqual([{ level: 'warn', upstream: 'mcp:files', state: 'open', msg: 'circuit changed' }]);
});
