import { pino } from 'pino';
import { expect, test } from 'vitest';
import { createCallObserver } from '#src/telemetry/call-metrics.ts';
import { createMetrics } from '#src/telemetry/metrics.ts';

const createSubject = (maxTools: number) => {
  const metrics = createMetrics('0.0.0');
  return { metrics, observer: createCallObserver({ metrics, log: pino({ level: 'silent' }), maxTools, now: () => 0 }) };
};

type Subject = ReturnType<typeof createSubject>;

const linesOf = async ({ metrics }: Subject, start: string): Promise<readonly string[]> =>
  (await metrics.registry.metrics()).split('\n').filter((line) => line.startsWith(start));

test('a tool that appears while the service runs has its series at 0 before its first call', async () => {
  const subject = createSubject(40);
  subject.observer.toolsOffered([{ name: 'one', effects: 'read' }]);
  expect(await linesOf(subject, 'recourse_tool_calls_total{tool="two"')).toEqual([]);
  subject.observer.toolsOffered([
    { name: 'one', effects: 'read' },
    { name: 'two', effects: 'write' },
  ]);
  expect(await linesOf(subject, 'recourse_tool_calls_total{tool="two"')).toContain(
    'recourse_tool_calls_total{tool="two",outcome="unknown",code="timeout",fault="tool"} 0',
  );
  expect(await linesOf(subject, 'recourse_tool_calls_total{tool="one",outcome="success"')).toEqual([
    'recourse_tool_calls_total{tool="one",outcome="success",code="ok",fault="none"} 0',
  ]);
});

test('histograms name so many tools and no more, whenever they appear', async () => {
  const subject = createSubject(2);
  subject.observer.toolsOffered([{ name: 'one', effects: 'read' }]);
  subject.observer.toolsOffered([
    { name: 'two', effects: 'read' },
    { name: 'three', effects: 'read' },
  ]);
  subject.observer.toolsOffered([{ name: 'one', effects: 'read' }]);
  const named = (await linesOf(subject, 'recourse_tool_call_duration_seconds_count')).map(
    (line) => /tool="([^"]+)"/.exec(line)?.[1],
  );
  expect([...new Set(named)].sort()).toEqual(['_other', 'one', 'two']);
});

test('waiting, running and refused work is counted by pool and by reason, from 0 on', async () => {
  const subject = createSubject(40);
  const { observer } = subject;
  observer.callQueued('hosted');
  observer.callQueued('hosted');
  observer.callUnqueued('hosted');
  observer.callStarted('hosted', 20);
  observer.callStarted('inline', 0);
  observer.callEnded('inline');
  observer.shed('memory');
  observer.shed('queue_full');
  expect(await linesOf(subject, 'recourse_calls_')).toEqual([
    'recourse_calls_in_flight{pool="inline"} 0',
    'recourse_calls_in_flight{pool="hosted"} 1',
    'recourse_calls_queued{pool="inline"} 0',
    'recourse_calls_queued{pool="hosted"} 1',
  ]);
  expect(await linesOf(subject, 'recourse_tool_call_queue_seconds_count')).toEqual([
    'recourse_tool_call_queue_seconds_count{pool="inline"} 1',
    'recourse_tool_call_queue_seconds_count{pool="hosted"} 1',
    'recourse_tool_call_queue_seconds_count{pool="process"} 0',
  ]);
  expect(await linesOf(subject, 'recourse_shed_total')).toEqual([
    'recourse_shed_total{reason="queue"} 0',
    'recourse_shed_total{reason="event_loop"} 0',
    'recourse_shed_total{reason="memory"} 1',
    'recourse_shed_total{reason="files"} 0',
    'recourse_shed_total{reason="request_memory"} 0',
    'recourse_shed_total{reason="queue_full"} 1',
    'recourse_shed_total{reason="deadline"} 0',
  ]);
});

test('what tool hosts do is exported before there is one', async () => {
  const subject = createSubject(40);
  expect(await linesOf(subject, 'recourse_tool_processes')).toEqual([
    'recourse_tool_processes{state="starting"} 0',
    'recourse_tool_processes{state="idle"} 0',
    'recourse_tool_processes{state="busy"} 0',
  ]);
  expect(await linesOf(subject, 'recourse_tool_process_restarts_total')).toHaveLength(7);
  expect(await linesOf(subject, 'recourse_tool_messages_dropped_total')).toHaveLength(3);
});

test('loops are counted by tool and keyed batches by what became of them, from 0 on', async () => {
  const subject = createSubject(40);
  subject.observer.toolsOffered([
    { name: 'one', effects: 'read' },
    { name: 'two', effects: 'write' },
  ]);
  subject.observer.loopDetected('two');
  subject.observer.loopDetected('two');
  for (const result of ['new', 'new', 'replayed', 'unavailable'] as const) subject.observer.keyUsed(result);
  expect(await linesOf(subject, 'recourse_loops_detected_total')).toEqual([
    'recourse_loops_detected_total{tool="one"} 0',
    'recourse_loops_detected_total{tool="two"} 2',
  ]);
  expect(await linesOf(subject, 'recourse_idempotency_total')).toEqual([
    'recourse_idempotency_total{result="new"} 2',
    'recourse_idempotency_total{result="resumed"} 0',
    'recourse_idempotency_total{result="replayed"} 1',
    'recourse_idempotency_total{result="joined"} 0',
    'recourse_idempotency_total{result="conflict"} 0',
    'recourse_idempotency_total{result="mismatch"} 0',
    'recourse_idempotency_total{result="unknown"} 0',
    'recourse_idempotency_total{result="unavailable"} 1',
  ]);
});
