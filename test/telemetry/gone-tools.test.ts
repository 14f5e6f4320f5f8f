import { pino } from 'pino';
import { expect, test } from 'vitest';
import { toFailure } from '#src/executor/call-outcome.ts';
import { createCallObserver, createCircuitObserver } from '#src/telemetry/call-metrics.ts';
import { createMetrics } from '#src/telemetry/metrics.ts';

const HOUR_MS = 3_600_000;

const createSubject = (maxTools = 40) => {
  const clock = { nowMs: 0 };
  const now = (): number => clock.nowMs;
  const log = pino({ level: 'silent' });
  const metrics = createMetrics('0.0.0', now);
  const observer = createCallObserver({ metrics, log, maxTools, now });
  const read = async (): Promise<readonly string[]> => (await metrics.registry.metrics()).split('\n');
  return {
    clock,
    metrics,
    observer,
    circuits: createCircuitObserver({ metrics, log, toolsOf: () => [] }),
    offer: (...names: readonly string[]) => observer.toolsOffered(names.map((name) => ({ name, effects: 'read' }))),
    linesOf: async (tool: string) => (await read()).filter((line) => line.includes(`{tool="${tool}"`)),
    tools: async () => {
      const found = (await read()).flatMap((line) => /\{tool="([^"]+)"/.exec(line)?.[1] ?? []);
      return [...new Set(found)].sort();
    },
  };
};

const callsOf = (tool: string, count: number): string =>
  `recourse_tool_calls_total{tool="${tool}",outcome="success",code="ok",fault="none"} ${count}`;

type Subject = ReturnType<typeof createSubject>;

/** Everything that is ever told of a tool. */
const tellAll = ({ observer, circuits }: Subject, tool: string): void => {
  observer.callAnswered('acme', tool, null, 1);
  observer.callAnswered(
    'acme',
    tool,
    toFailure('tool_exception', 'it broke', null, { fatal: true, outcome: 'failed' }),
    1,
  );
  observer.budgetDecided({ tool, decision: 'denied', denial: 'tool', mode: 'memory' });
  observer.lateResult(tool, 'threw');
  observer.deadlineOverrun(tool);
  observer.loopDetected(tool);
  observer.callChecked(tool, 'run');
  circuits.circuitChanged(tool, 'open');
};

test('a tool that is gone keeps its numbers for an hour, and goes on with them when it is back', async () => {
  const subject = createSubject();
  subject.offer('one', 'two');
  tellAll(subject, 'one');
  subject.offer('two');
  subject.clock.nowMs = HOUR_MS - 1;
  expect(await subject.linesOf('one')).toContain(callsOf('one', 1));
  subject.offer('one', 'two');
  subject.clock.nowMs = 3 * HOUR_MS;
  subject.observer.callAnswered('acme', 'one', null, 1);
  expect(await subject.linesOf('one')).toContain(callsOf('one', 2));
  expect(await subject.linesOf('one')).toContain('recourse_circuit_state{tool="one"} 2');
});

test('after an hour nothing is left of it in any metric that names tools, with nobody but the scrape asking', async () => {
  const subject = createSubject();
  subject.offer('one', 'two');
  tellAll(subject, 'one');
  const naming = subject.metrics.registry
    .getMetricsAsArray()
    .filter((metric) => 'labelNames' in metric && Array.isArray(metric.labelNames) && metric.labelNames[0] === 'tool')
    .map(({ name }) => name);
  const before = (await subject.linesOf('one')).join('\n');
  expect(naming).toHaveLength(11);
  expect(naming.filter((name) => !before.includes(name))).toEqual([]);
  subject.offer('two');
  subject.clock.nowMs = HOUR_MS;
  expect(await subject.tools()).toEqual(['_unknown', 'two']);
  subject.offer('one', 'two');
  expect(await subject.linesOf('one')).toContain(callsOf('one', 0));
  tellAll(subject, 'one');
  const after = await subject.linesOf('one');
  expect(after).toContain(callsOf('one', 1));
  expect(after).toContain('recourse_retry_budget_decisions_total{tool="one",decision="denied",mode="memory"} 1');
});

test('what is told of a tool that is forgotten, or was never offered, makes no series of its own', async () => {
  const subject = createSubject();
  subject.offer('one', 'two');
  subject.offer('two');
  subject.clock.nowMs = HOUR_MS;
  expect(await subject.tools()).toEqual(['_unknown', 'two']);
  for (const tool of ['one', 'three', 'four']) tellAll(subject, tool);
  expect(await subject.tools()).toEqual(['_other', '_unknown', 'two']);
  expect(await subject.linesOf('_other')).toContain(callsOf('_other', 3));
  expect((await subject.linesOf('_other')).join('\n')).not.toContain('recourse_circuit_state');
});

test('of tools that are gone at most five hundred are remembered, and rather those that were called', async () => {
  const subject = createSubject();
  subject.offer('called');
  subject.observer.callAnswered('acme', 'called', null, 1);
  for (let change = 0; change < 20; change += 1) {
    subject.offer(...Array.from({ length: 256 }, (_, place) => `tool_${change}_${place}`));
    subject.clock.nowMs += 1000;
  }
  const tools = await subject.tools();
  // What is offered, `_unknown` and `_other` of the histogram, and what is gone.
  expect(tools).toHaveLength(256 + 2 + 500);
  expect(await subject.linesOf('called')).toContain(callsOf('called', 1));
  expect(tools).toContain('tool_19_0');
  expect(tools).toContain('tool_18_0');
  expect(tools).not.toContain('tool_0_0');
});

test('two thousand tools have series of their own, and calls of further ones are counted together', async () => {
  const subject = createSubject();
  const names = Array.from({ length: 2002 }, (_, place) => `tool_${place}`);
  subject.offer(...names);
  for (const tool of names) subject.observer.callAnswered('acme', tool, null, 1);
  expect(await subject.tools()).toHaveLength(2000 + 2);
  expect(await subject.linesOf('tool_1999')).toContain(callsOf('tool_1999', 1));
  expect(await subject.linesOf('_other')).toContain(callsOf('_other', 2));
  subject.offer(...names.slice(1));
  subject.observer.callAnswered('acme', 'tool_2000', null, 1);
  expect(await subject.linesOf('tool_2000')).toContain(callsOf('tool_2000', 1));
});

test('a histogram names another tool once one that it named is forgotten, and times of a tool stand in one place', async () => {
  const subject = createSubject(1);
  const timed = async (tool: string) =>
    (await subject.linesOf(tool)).find((line) => line.startsWith('recourse_tool_call_duration_seconds_count'));
  subject.offer('one', 'two');
  subject.observer.callAnswered('acme', 'two', null, 1);
  subject.offer('two');
  subject.clock.nowMs = HOUR_MS;
  subject.offer();
  subject.offer('two');
  subject.offer('two', 'three');
  for (const tool of ['two', 'three']) subject.observer.callAnswered('acme', tool, null, 1);
  expect(await timed('one')).toBeUndefined();
  expect(await timed('two')).toBeUndefined();
  expect(await timed('three')).toBe('recourse_tool_call_duration_seconds_count{tool="three",outcome="success"} 1');
  expect(await timed('_other')).toBe('recourse_tool_call_duration_seconds_count{tool="_other",outcome="success"} 2');
});

test('a tool that comes with other effects has the numbers of those, and keeps what it had', async () => {
  const subject = createSubject();
  subject.offer('one');
  subject.observer.callAnswered('acme', 'one', null, 1);
  subject.observer.toolsOffered([{ name: 'one', effects: 'write' }]);
  const lines = await subject.linesOf('one');
  expect(lines).toContain('recourse_tool_calls_total{tool="one",outcome="unknown",code="timeout",fault="tool"} 0');
  expect(lines).toContain(callsOf('one', 1));
});
