import { line, only, type Row } from './panel.ts';
import { quantile, rate, series, sumBy } from './queries.ts';

const QUEUE = 'recourse_tool_call_queue_seconds';
const RESTARTS = 'recourse_tool_process_restarts_total';

export const ISOLATION_ROW: Row = {
  title: 'Isolation',
  lines: [
    line(
      {
        kind: 'graph',
        title: 'Processes',
        page: '#overview=hosts',
        description: 'Tool hosts by state. All busy for long: raise TOOL_HOSTS_MAX, or find the tool that hangs.',
        unit: 'short',
        form: 'stacked',
        queries: only(sumBy('state', series('recourse_tool_processes')), '{{state}}'),
      },
      {
        kind: 'graph',
        title: 'Replaced',
        page: '#overview=hosts',
        alerts: ['RecourseToolHostsDying', 'RecourseToolLeaking'],
        description:
          'Why tool hosts were replaced: time limits and recycling are normal; for crash, exit, oom and flood inspect the tool. Growth is named by file: its tools keep memory after their calls.',
        unit: 'ops',
        queries: [
          { expression: sumBy('reason', rate(RESTARTS, 'reason!="growth"')), legend: '{{reason}}' },
          { expression: sumBy('file', rate(RESTARTS, 'reason="growth"')), legend: 'growth {{file}}' },
        ],
      },
      {
        kind: 'graph',
        title: 'Wait for a process',
        description:
          'How long calls that had their slot waited for a process. It rises while the pool grows and where processes keep dying.',
        unit: 's',
        queries: [0.5, 0.99].map((part) => ({
          expression: quantile(part, QUEUE, { labels: ['pool="process"'] }),
          legend: `p${part * 100}`,
        })),
      },
    ),
    line(
      {
        kind: 'graph',
        title: 'Tool files',
        page: '#overview=files',
        alerts: ['RecourseToolFileNotLoaded'],
        description:
          'Files of TOOLS_DIR on all replicas, by the version in use: the newest (serving), an older one because the newest cannot be loaded (stale), or none (unavailable). The log says why.',
        unit: 'short',
        form: 'steps',
        colours: { serving: 'green', stale: 'orange', unavailable: 'red' },
        queries: only(sumBy('state', series('recourse_tool_files')), '{{state}}'),
      },
      {
        kind: 'graph',
        title: 'Messages rejected',
        description:
          'Messages of tool hosts that were dropped: forged, duplicate, or too many. Inspect the tool of every one.',
        unit: 'ops',
        queries: only(sumBy('reason', rate('recourse_tool_messages_dropped_total')), '{{reason}}'),
      },
      {
        kind: 'graph',
        title: 'Tool files moved to dedicated processes',
        page: '#overview=hosts',
        description:
          'Tool files moved to dedicated processes, and failures of files already there: their calls crash, hang, or leave state behind.',
        unit: 'ops',
        queries: only(sumBy('reason', rate('recourse_tool_file_offences_total')), '{{reason}}'),
      },
    ),
  ],
};

export const OVERLOAD_ROW: Row = {
  title: 'Overload',
  lines: [
    line(
      {
        kind: 'graph',
        title: 'Calls in flight',
        page: '#overview=replicas',
        description: 'Calls that run at this moment, inside the service (inline) and in tool hosts (hosted).',
        unit: 'short',
        queries: only(sumBy('pool', series('recourse_calls_in_flight')), '{{pool}}'),
      },
      {
        kind: 'graph',
        title: 'Calls waiting',
        page: '#overview=replicas',
        alerts: ['RecourseQueueSaturated'],
        description: 'Calls that wait for a slot. At MAX_QUEUED_CALLS further batches are answered 503.',
        unit: 'short',
        queries: only(sumBy('pool', series('recourse_calls_queued')), '{{pool}}'),
      },
      {
        kind: 'graph',
        title: 'Wait for a slot',
        description: 'Time that calls waited for a slot of their tool: p50 and p99 by pool.',
        unit: 's',
        queries: [0.5, 0.99].map((part) => ({
          expression: quantile(part, QUEUE, { by: 'pool', labels: ['pool!="process"'] }),
          legend: `{{pool}} p${part * 100}`,
        })),
      },
      {
        kind: 'graph',
        title: 'Refused and dropped',
        alerts: ['RecourseShedding', 'RecourseOverloaded', 'RecourseRequestMemoryFull'],
        description:
          'Batches refused before they were read (queue, event_loop, memory, answers), and calls dropped while they waited (queue_full, deadline).',
        unit: 'ops',
        queries: [
          { expression: sumBy('reason', rate('recourse_shed_total')), legend: '{{reason}}' },
          { expression: rate('recourse_request_memory_refused_total'), legend: 'no memory for requests' },
          { expression: rate('recourse_connections_stalled_total'), legend: 'connections stalled' },
          { expression: series('recourse_request_memory_bytes'), legend: '{{instance}} request memory' },
          { expression: series('recourse_request_memory_bytes_limit'), legend: '{{instance}} request memory limit' },
          {
            expression: sumBy('event', rate('recourse_stream_events_dropped_total')),
            legend: '{{event}} events left out of streams',
          },
          { expression: series('recourse_streams_open'), legend: '{{instance}} open streams' },
        ],
      },
    ),
  ],
};

export const RUNTIME_ROW: Row = {
  title: 'Runtime',
  lines: [
    line(
      {
        kind: 'graph',
        title: 'Event loop lateness',
        page: '#overview=replicas',
        alerts: ['RecourseEventLoopLag'],
        description: 'Maximum event loop lag. Above MAX_EVENT_LOOP_LAG_MS for 0.3 s, batches are refused.',
        unit: 's',
        queries: [
          { expression: series('recourse_event_loop_lag_seconds'), legend: '{{instance}} worst' },
          { expression: series('nodejs_eventloop_lag_p99_seconds'), legend: '{{instance}} p99' },
        ],
      },
      {
        kind: 'graph',
        title: 'Event loop utilisation',
        description: 'Share of time the event loop was busy, over about two seconds. Near 1 the replica is saturated.',
        unit: 'percentunit',
        max: 1,
        queries: only(series('recourse_event_loop_utilization_ratio'), '{{instance}}'),
      },
      {
        kind: 'graph',
        title: 'CPU',
        description: 'Processor time per second; 1 is a whole core.',
        unit: 'percentunit',
        queries: only(rate('process_cpu_seconds_total'), '{{instance}}'),
      },
      {
        kind: 'graph',
        title: 'Memory',
        page: '#overview=replicas',
        description: "Memory of the process, and the part that JavaScript's heap uses.",
        unit: 'bytes',
        queries: [
          { expression: series('process_resident_memory_bytes'), legend: '{{instance}} resident' },
          { expression: series('nodejs_heap_size_used_bytes'), legend: '{{instance}} heap' },
        ],
      },
    ),
    line(
      {
        kind: 'graph',
        title: 'Garbage collection',
        description: 'Share of time spent in garbage collection, by kind.',
        unit: 'percentunit',
        queries: only(sumBy('kind', rate('nodejs_gc_duration_seconds_sum')), '{{kind}}'),
      },
      {
        kind: 'graph',
        title: 'Open files and sockets',
        description: 'File descriptors that the process holds.',
        unit: 'short',
        queries: only(series('process_open_fds'), '{{instance}}'),
      },
      {
        kind: 'graph',
        title: 'Uptime',
        page: '#overview=replicas',
        alerts: ['RecourseCrashLoop'],
        description: 'Time since the process started; a fall is a restart.',
        unit: 's',
        queries: only(`time() - ${series('process_start_time_seconds')}`, '{{instance}}'),
      },
      {
        kind: 'table',
        title: 'Versions',
        description:
          'The version of each replica. Two versions for longer than a rollout takes mean that the rollout hangs.',
        unit: 'short',
        queries: only(`max by (instance, version, node) (${series('recourse_build_info')})`),
        columns: [
          { field: 'instance', title: 'Replica' },
          { field: 'version', title: 'Version' },
          { field: 'node', title: 'Node' },
        ],
      },
    ),
  ],
};
