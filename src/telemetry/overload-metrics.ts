import type { Pool, ShedReason } from '../executor/call-observer.ts';
import { type Define, recordOf } from './tally.ts';

const QUEUE_BUCKETS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5];
const POOLS = ['inline', 'hosted'] as const satisfies readonly Pool[];
const SHED_REASONS = [
  'queue',
  'event_loop',
  'memory',
  'files',
  'request_memory',
  'queue_full',
  'deadline',
] as const satisfies readonly ShedReason[];

/** Metrics of what runs where, what waits for it, and what is refused. */
export const createOverloadMetrics = (define: Define) => {
  const queue = define.histogram(
    'tool_call_queue_seconds',
    'Time a call waited for a slot before its handler began.',
    ['pool'],
    QUEUE_BUCKETS,
  );
  // Numbers that the path of a call changes.
  const countPools = (name: string, help: string) => {
    const series = recordOf(POOLS, () => ({ count: 0 }));
    define.gauge(name, help, ['pool'], (gauge) => {
      for (const pool of POOLS) gauge.set({ pool }, series[pool].count);
    });
    return series;
  };
  return {
    // `process` is the wait of a call that has its slot: for a process that is free.
    toolCallQueue: recordOf([...POOLS, 'process'], (pool) => queue({ pool })),
    callsInFlight: countPools('calls_in_flight', 'Handlers running now.'),
    callsQueued: countPools('calls_queued', 'Calls waiting for a slot now.'),
    shed: define.countBy(
      'shed_total',
      'Batches refused before they were read (queue, event_loop, memory, files, request_memory) and calls dropped from the queue (queue_full, deadline).',
      'reason',
      SHED_REASONS,
    ),
    ...createRequestMetrics(define),
    streams: createStreamMetrics(define),
    eventLoopLag: define.gauge('event_loop_lag_seconds', 'Maximum event loop lag over the last 10 to 20 s.'),
    eventLoopUtilization: define.gauge(
      'event_loop_utilization_ratio',
      'Share of time the event loop was busy, over about the last 2 s.',
    ),
  };
};

const createRequestMetrics = ({ gauge, count }: Define) => {
  let readBytes = (): number => 0;
  gauge(
    'request_memory_bytes',
    'Memory of requests, their answers, streams and pending calls, as counted against REQUEST_MEMORY_MB.',
    [],
    (inUse) => inUse.set(readBytes()),
  );
  const limit = gauge('request_memory_bytes_limit', 'The most that recourse_request_memory_bytes may come to.');
  const refused = count(
    'request_memory_refused_total',
    'Requests and pending calls refused, and results left out, because the memory for requests was full.',
  );
  return {
    requestMemory: {
      /** From now on the bytes are read so, at every scrape. */
      countBy: (read: () => number, limitBytes: number): void => {
        readBytes = read;
        limit.set(limitBytes);
      },
      refused: (): void => {
        refused.count += 1;
      },
    },
    connectionsStalled: count(
      'connections_stalled_total',
      'Connections closed after ANSWER_STALL_MS without a client reading.',
    ),
  };
};

/** Answers that are sent as events: how many are open, and what slow readers miss. */
const createStreamMetrics = ({ gauge, countBy }: Define) => {
  let open = 0;
  gauge('streams_open', 'Answers being sent as a stream now.', [], (streams) => streams.set(open));
  const dropped = countBy(
    'stream_events_dropped_total',
    'Events left out of a stream because its client read too slowly: part, progress.',
    'event',
    ['part', 'progress'],
  );
  return {
    opened: (): void => {
      open += 1;
    },
    closed: (): void => {
      open -= 1;
    },
    dropped: (event: keyof typeof dropped): void => {
      dropped[event].count += 1;
    },
  };
};

const PROCESS_STATES = ['starting', 'idle', 'busy'] as const;
const RESTART_REASONS = ['timeout', 'oom', 'crash', 'exit', 'recycle', 'growth', 'flood'] as const;
// Each has a series for each reason it gave. Files come and go while a service runs.
const MAX_FILES = 100;
const FILE_STATES = ['serving', 'stale', 'unavailable'] as const;
const OFFENCES = ['crash', 'memory', 'timeout', 'taint', 'unrest'] as const;
const MESSAGE_REASONS = ['forged', 'second', 'limit'] as const;

/** Metrics of tool hosts and of the files they serve. */
export const createProcessMetrics = ({ gauge, countBy, plainCounter }: Define) => {
  let countProcesses = (_state: (typeof PROCESS_STATES)[number]): number => 0;
  gauge('tool_processes', 'Tool hosts by state: starting, idle, busy.', ['state'], (toolProcesses) => {
    for (const state of PROCESS_STATES) toolProcesses.set({ state }, countProcesses(state));
  });
  const toolFiles = gauge(
    'tool_files',
    'Files of TOOLS_DIR by the version in use: the newest, an older one, or none.',
    ['state'],
  );
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
    countToolProcessRestart: createRestartCount(plainCounter),
    toolFileOffences: countBy(
      'tool_file_offences_total',
      'Tool files moved to dedicated processes, and failures of files there.',
      'reason',
      OFFENCES,
    ),
    toolMessagesDropped: countBy(
      'tool_messages_dropped_total',
      'Messages of tool hosts that were rejected: forged, duplicate, or beyond a limit.',
      'reason',
      MESSAGE_REASONS,
    ),
  };
};

/** Counts a host that was replaced. `file`: the name of the file whose calls it ran last; null where it ran none. */
const createRestartCount = (plainCounter: Define['plainCounter']) => {
  const restarts = plainCounter(
    'tool_process_restarts_total',
    'Tool hosts replaced, by the reason why they ended and the file whose calls they ran last: empty where they ran none, _other beyond 100 files.',
    ['reason', 'file'],
  );
  for (const reason of RESTART_REASONS) restarts.inc({ reason, file: '' }, 0);
  const files = new Set<string>();
  return (reason: (typeof RESTART_REASONS)[number], file: string | null): void => {
    if (file !== null && files.size < MAX_FILES) files.add(file);
    restarts.inc({ reason, file: file === null || files.has(file) ? (file ?? '') : '_other' });
  };
};
