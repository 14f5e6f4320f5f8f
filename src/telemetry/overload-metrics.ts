import { Counter, Gauge, type Registry } from 'prom-client';
import type { Pool, ShedReason } from '../executor/call-observer.ts';
import type { Offence } from '../isolation/isolation-observer.ts';
import { type CountSeries, createTallyCounter, createTallyHistogram } from './tally.ts';

const QUEUE_BUCKETS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5];
const PROCESS_STATES = ['starting', 'idle', 'busy'] as const;
const RESTART_REASONS = ['timeout', 'oom', 'crash', 'exit', 'recycle', 'flood'] as const;
const FILE_STATES = ['serving', 'stale', 'unavailable'] as const;
const OFFENCES = ['crash', 'memory', 'timeout', 'taint', 'unrest'] as const satisfies readonly Offence[];
const MESSAGE_REASONS = ['forged', 'second', 'limit'] as const;

/** Metrics of what runs where, what waits for it, and what is refused. */
export const createOverloadMetrics = (registry: Registry) => {
  const queue = createTallyHistogram({
    registry,
    name: 'recourse_tool_call_queue_seconds',
    help: 'Time a call waited for a slot before its handler began.',
    labelNames: ['pool'],
    buckets: QUEUE_BUCKETS,
  });
  return {
    toolCallQueue: {
      inline: queue({ pool: 'inline' }),
      hosted: queue({ pool: 'hosted' }),
      // Of a call that has its slot: for a process that is free.
      process: queue({ pool: 'process' }),
    },
    callsInFlight: createPoolGauge(registry, 'recourse_calls_in_flight', 'Handlers that run now.'),
    callsQueued: createPoolGauge(registry, 'recourse_calls_queued', 'Calls that wait for a slot now.'),
    shed: createShedCounter(registry),
    ...createAnswerMetrics(registry),
    eventLoopLag: new Gauge({
      name: 'recourse_event_loop_lag_seconds',
      help: 'Most by which the event loop came late, of the intervals of the last 10 to 20 s.',
      registers: [registry],
    }),
    eventLoopUtilization: new Gauge({
      name: 'recourse_event_loop_utilization_ratio',
      help: 'Share of time the event loop was busy, over about the last 2 s.',
      registers: [registry],
    }),
    ...createProcessMetrics(registry),
  };
};

/** A gauge whose hot path changes plain numbers. */
const createPoolGauge = (registry: Registry, name: string, help: string): Readonly<Record<Pool, CountSeries>> => {
  const series = { inline: { count: 0 }, hosted: { count: 0 } };
  const gauge: Gauge<string> = new Gauge({
    name,
    help,
    labelNames: ['pool'],
    registers: [registry],
    collect: () => {
      gauge.set({ pool: 'inline' }, series.inline.count);
      gauge.set({ pool: 'hosted' }, series.hosted.count);
    },
  });
  return series;
};

const createAnswerMetrics = (registry: Registry) => {
  let readBytes = (): number => 0;
  const inFlight: Gauge = new Gauge({
    name: 'recourse_answer_bytes',
    help: 'Memory of answers that are being made or not sent yet, as it is counted against ANSWER_MEMORY_MB.',
    registers: [registry],
    collect: () => inFlight.set(readBytes()),
  });
  const limit = new Gauge({
    name: 'recourse_answer_bytes_limit',
    help: 'ANSWER_MEMORY_MB in bytes.',
    registers: [registry],
  });
  return {
    /** From now on the bytes are read so, at every scrape. */
    countAnswerBytesBy: (read: () => number, limitBytes: number): void => {
      readBytes = read;
      limit.set(limitBytes);
    },
    answerBytesRefused: createTallyCounter({
      registry,
      name: 'recourse_answer_bytes_refused_total',
      help: 'Times that there was no memory for an answer: requests refused at the door, and results left out.',
      labelNames: [],
    })({}),
    connectionsStalled: createTallyCounter({
      registry,
      name: 'recourse_connections_stalled_total',
      help: 'Connections ended because their clients took nothing of an answer for ANSWER_STALL_MS.',
      labelNames: [],
    })({}),
  };
};

const createShedCounter = (registry: Registry): Readonly<Record<ShedReason, CountSeries>> => {
  const shed = createTallyCounter({
    registry,
    name: 'recourse_shed_total',
    help: 'Batches refused before they were read (queue, event_loop, memory, answers) and calls dropped from the queue (queue_full, deadline).',
    labelNames: ['reason'],
  });
  return {
    queue: shed({ reason: 'queue' }),
    event_loop: shed({ reason: 'event_loop' }),
    memory: shed({ reason: 'memory' }),
    answers: shed({ reason: 'answers' }),
    queue_full: shed({ reason: 'queue_full' }),
    deadline: shed({ reason: 'deadline' }),
  };
};

const createProcessMetrics = (registry: Registry) => {
  const counter = (name: string, help: string, reasons: readonly string[]): Counter<'reason'> => {
    const made = new Counter({ name, help, labelNames: ['reason'], registers: [registry] });
    for (const reason of reasons) made.inc({ reason }, 0);
    return made;
  };
  let countProcesses = (_state: (typeof PROCESS_STATES)[number]): number => 0;
  const toolProcesses: Gauge<'state'> = new Gauge({
    name: 'recourse_tool_processes',
    help: 'Tool hosts by what they do: starting, idle, busy.',
    labelNames: ['state'],
    registers: [registry],
    collect: () => {
      for (const state of PROCESS_STATES) toolProcesses.set({ state }, countProcesses(state));
    },
  });
  const toolFiles = new Gauge({
    name: 'recourse_tool_files',
    help: 'Files of TOOLS_DIR by what serves: the newest version, an older one because that cannot be loaded, or nothing.',
    labelNames: ['state'],
    registers: [registry],
  });
  const countToolFiles = (counts: Readonly<Record<(typeof FILE_STATES)[number], number>>): void => {
    for (const state of FILE_STATES) toolFiles.set({ state }, counts[state]);
  };
  countToolFiles({ serving: 0, stale: 0, unavailable: 0 });
  return {
    countToolFiles,
    /** From now on the processes are counted by this, at every scrape. */
    countToolProcessesBy: (count: typeof countProcesses): void => {
      countProcesses = count;
    },
    toolProcessRestarts: counter(
      'recourse_tool_process_restarts_total',
      'Tool hosts that were replaced, by why they ended.',
      RESTART_REASONS,
    ),
    toolFileOffences: counter(
      'recourse_tool_file_offences_total',
      'Times a tool file lost its place among others, or went on without it, by what it did.',
      OFFENCES,
    ),
    toolMessagesDropped: counter(
      'recourse_tool_messages_dropped_total',
      'Messages of tool hosts that were not believed: forged, a second answer, or beyond a limit.',
      MESSAGE_REASONS,
    ),
  };
};
