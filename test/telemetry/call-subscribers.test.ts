import { createLogLines } from '@recourse/test-support/log-lines.ts';
import { expect, test } from 'vitest';
import type { ToolInvoked } from '#src/executor/call-observer.ts';
import { toFailure } from '#src/executor/call-outcome.ts';
import { createCallObserver } from '#src/telemetry/call-metrics.ts';
import { createMetrics } from '#src/telemetry/metrics.ts';

const SUCCESS: ToolInvoked = {
  requestId: 'request_1',
  traceId: null,
  tenant: 'acme',
  key: null,
  session: 'tenant:1',
  index: 0,
  callId: 'call_1',
  tool: 'one',
  success: true,
  outcome: 'success',
  executed: 'yes',
  code: null,
  fault: null,
  fatal: false,
  replayed: false,
  durationMs: 2,
  message: '',
  valueJson: '{"secret":"in the value"}',
};

const FAILURE: ToolInvoked = {
  ...SUCCESS,
  index: 1,
  success: false,
  outcome: 'retry',
  code: 'tool_exception',
  fault: 'tool',
  message: 'Error: it broke',
  valueJson: 'null',
};

type Subscriber = (event: ToolInvoked) => void;

const missing = (): void => expect.unreachable('no event would reach a subscriber');

const createSubject = (subscribers: readonly Subscriber[]) => {
  const metrics = createMetrics('0.0.0');
  const clock = { nowMs: 0 };
  const { log, lines } = createLogLines();
  const observer = createCallObserver({ metrics, log, maxTools: 40, now: () => clock.nowMs, subscribers });
  observer.toolsOffered([{ name: 'one', effects: 'read' }]);
  const counted = async (): Promise<readonly string[]> =>
    (await metrics.registry.metrics())
      .split('\n')
      .filter((line) => line.startsWith('recourse_tool_calls_total{tool="one"') && !line.endsWith(' 0'));
  return { observer: { ...observer, toolInvoked: observer.toolInvoked ?? missing }, clock, lines, counted };
};

test('every subscriber hears of every call, failures like successes, with message and value', () => {
  const heard: [string, ToolInvoked][] = [];
  const { observer } = createSubject([
    (event) => void heard.push(['a', event]),
    (event) => void heard.push(['b', event]),
  ]);
  observer.toolInvoked(SUCCESS);
  observer.toolInvoked(FAILURE);
  expect(heard).toEqual([
    ['a', SUCCESS],
    ['b', SUCCESS],
    ['a', FAILURE],
    ['b', FAILURE],
  ]);
});

test('a subscriber that throws keeps neither the others from hearing nor the call from being counted', async () => {
  const heard: number[] = [];
  const { observer, lines, counted } = createSubject([
    () => {
      throw new Error('a subscriber broke');
    },
    ({ index }) => void heard.push(index),
  ]);
  observer.callAnswered('acme', 'one', null, 2);
  observer.callAnswered('acme', 'one', toFailure('tool_exception', 'it broke', { effects: 'read' }), 2);
  expect(() => observer.toolInvoked(SUCCESS)).not.toThrow();
  expect(() => observer.toolInvoked(FAILURE)).not.toThrow();
  expect(heard).toEqual([0, 1]);
  expect(await counted()).toEqual([
    'recourse_tool_calls_total{tool="one",outcome="success",code="ok",fault="none"} 1',
    'recourse_tool_calls_total{tool="one",outcome="retry",code="tool_exception",fault="tool"} 1',
  ]);
  expect(lines).toMatchObject([
    { level: 'error', msg: 'observer failed', causes: [{ type: 'Error', message: 'a subscriber broke' }] },
  ]);
});

test('a subscriber that throws something that is no error is heard of, too', () => {
  const { observer, lines } = createSubject([
    () => {
      throw null;
    },
  ]);
  expect(() => observer.toolInvoked(SUCCESS)).not.toThrow();
  expect(lines).toMatchObject([{ level: 'error', msg: 'observer failed', causes: [] }]);
});

test('a subscriber whose promise rejects leaves no rejection unhandled, and is heard of', async () => {
  const unhandled: unknown[] = [];
  const note = (error: unknown): void => void unhandled.push(error);
  process.on('unhandledRejection', note);
  const { observer, lines } = createSubject([() => Promise.reject(new Error('a promise broke'))]);
  observer.toolInvoked(SUCCESS);
  await new Promise(setImmediate);
  process.off('unhandledRejection', note);
  expect(unhandled).toEqual([]);
  expect(lines).toMatchObject([{ msg: 'observer failed', causes: [{ message: 'a promise broke' }] }]);
});

test('a subscriber that keeps failing is heard of once in ten seconds, and the next line tells how often it failed', () => {
  const { observer, clock, lines } = createSubject([
    () => {
      throw new Error('first');
    },
    () => {
      throw new Error('second');
    },
  ]);
  for (clock.nowMs = 0; clock.nowMs < 10_000; clock.nowMs += 1000) observer.toolInvoked(SUCCESS);
  expect(lines.map(({ causes }) => causes)).toMatchObject([[{ message: 'first' }], [{ message: 'second' }]]);
  expect(lines[0]).not.toHaveProperty('equal_lines_left_out');
  clock.nowMs = 10_000;
  observer.toolInvoked(SUCCESS);
  expect(lines).toHaveLength(4);
  expect(lines[2]).toMatchObject({ causes: [{ message: 'first' }], equal_lines_left_out: 9 });
});

test('without subscribers no event is asked for', () => {
  const { log } = createLogLines();
  const metrics = createMetrics('0.0.0');
  expect(createCallObserver({ metrics, log, maxTools: 40, now: () => 0 }).toolInvoked).toBeNull();
});

test('nothing of what calls gave is logged by passing it on', () => {
  const { observer, lines } = createSubject([() => undefined]);
  observer.toolInvoked(SUCCESS);
  expect(lines).toEqual([]);
});
