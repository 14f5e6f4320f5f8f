import { EXECUTED, FAILURE_CODES, FAULTS, OUTCOMES } from 'recourse-server/contract/failure';
import * as z from 'zod';

// What people on call read, as JSON. All of it is of the caller's tenant alone; tools that its key may not use are left out. Times are
// RFC 3339 in UTC, durations milliseconds, sizes bytes. Texts are redacted before they are kept.

const Moment = z.iso.datetime();
const Code = z.enum(FAILURE_CODES);
const Fault = z.enum(FAULTS);
const Tool = z.string().describe('A registered tool name, or `_unknown`.');
const Count = z.int().nonnegative();

/** Of a session: 64 hex digits, of which the log carries the first eight. */
export const SessionHash = z.string().regex(/^[0-9a-f]{64}$/);

// Figures

const Figures = z.object({
  calls: Count,
  failures: Count,
  p50_ms: z.number().nullable().describe('Of calls that ran, at most an eighth off; null: none ran.'),
  p95_ms: z.number().nullable(),
});
export const MinuteFigures = Figures.extend({ at: Moment.describe('When the minute began.') }).meta({
  id: 'MinuteFigures',
});
export const ToolFigures = Figures.extend({
  tool: Tool,
  calls_by_minute: z.array(Count).describe('One number for each of `minutes`.'),
  failures_by_minute: z.array(Count),
}).meta({ id: 'ToolFigures' });
export const FailureCount = z
  .object({
    tool: Tool,
    code: Code,
    fault: Fault,
    failures: Count.describe('In the last hour.'),
    since: Moment.describe('The first of the failures that follow each other without ten quiet minutes between.'),
    last_at: Moment,
    is_now: z.boolean().describe('It failed within the last five minutes.'),
    message: z.string().describe('Of the last one, at most 300 characters.'),
    reference: z.string().describe('Of the last one: GET /calls/{reference}.'),
  })
  .meta({ id: 'FailureCount' });
export const HourFigures = z
  .object({
    minutes: z.array(MinuteFigures).describe('The last sixty, oldest first; the last of them is not over.'),
    total: Figures,
    tools: z.array(ToolFigures).describe('Most failures first, then most calls; at most 50.'),
    more_tools: Count.describe('How many tools were called beside those.'),
    failures: z
      .array(FailureCount)
      .describe('By tool and code: those that fail now first, then most failures; at most 50.'),
    faults: z.record(z.string(), Count).describe('Failures by fault.'),
  })
  .meta({ id: 'HourFigures' });

// States of processes

export const ReplicaState = z
  .object({
    replica: z.string().describe('As its log names it: host name and pid.'),
    role: z.enum(['service', 'worker']),
    version: z.string(),
    started_at: Moment,
    seen_at: Moment,
    is_silent: z.boolean().describe('It has written nothing for 30 s: its figures and states are missing.'),
    loop_lag_ms: z.number().nullable().describe('The 99th percentile of the last ten seconds.'),
    heap_bytes: Count,
    calls_in_flight: Count,
    calls_queued: Count,
  })
  .meta({ id: 'ReplicaState' });
const Replicas = z.array(z.string()).describe('Those of `replicas` that say so.');
export const CircuitState = z
  .object({
    name: z
      .string()
      .describe('Of the tool, or of the upstream whose tools share the circuit. DELETE /circuits/{name} closes it.'),
    kind: z.enum(['tool', 'upstream']),
    tools: z.array(z.string()),
    state: z.enum(['open', 'half_open']),
    opened_at: Moment,
    open_until: Moment.describe('From then on one call is tried.'),
    failure: z
      .object({ tool: Tool, code: Code, message: z.string(), request_id: z.string(), at: Moment })
      .nullable()
      .describe('What opened it.'),
    replicas: Replicas,
  })
  .meta({ id: 'CircuitReport' });
export const FileState = z
  .object({
    file: z.string(),
    line: z.int().nullable(),
    message: z.string(),
    older_version_serves: z.boolean(),
    tools: z.array(z.string()).describe('That the file offers while an older version serves; else empty.'),
    replicas: Replicas,
  })
  .meta({ id: 'FileReport' });
export const HostState = z
  .object({
    file: z.string().describe('The tool file; of those that share processes the one whose work ended most of them.'),
    files: Count,
    processes: Count,
    memory_bytes: Count.nullable().describe('Of the largest of them; null: nobody knows.'),
    limit_bytes: Count,
    restarts: Count.describe('Of the last hour.'),
    restarts_by: z
      .record(z.string(), Count)
      .describe('By reason, as in `recourse_tool_process_restarts_total`: `recycle`, `crash`, `oom`, …'),
    last_restart_at: Moment.nullable(),
    last_words: z
      .string()
      .describe('The end of what the last process that died wrote to stderr; "" where it was silent.'),
    recycled_for: z
      .string()
      .optional()
      .describe(
        'What had made the last process unusable that was replaced for that (`recycle`): a global that a tool changed.',
      ),
    replicas: Replicas,
  })
  .meta({ id: 'HostReport' });
export const UpstreamReport = z
  .object({ name: z.string(), status: z.string(), reason: z.string().nullable(), tools: Count, replicas: Replicas })
  .meta({ id: 'UpstreamReport' });
export const LaneState = z
  .object({
    lane: z.string(),
    queued: Count,
    running: Count,
    oldest_ms: z.number().nullable().describe('How long the oldest call has waited.'),
    workers: Count.describe('Processes that take calls of the lane.'),
  })
  .meta({ id: 'LaneReport' });
export const StoreState = z
  .object({
    kind: z.enum(['redis', 'sqlite', 'memory']),
    status: z.enum(['up', 'down']),
    used_bytes: Count.nullable(),
    max_bytes: Count.nullable(),
  })
  .meta({ id: 'StoreReport' });
export const OverviewWarning = z
  .object({ code: z.string(), message: z.string().describe('What is wrong, and what to do.'), replicas: Replicas })
  .meta({ id: 'OverviewWarning' });

/** What every replica says of itself, put together. */
export const States = z.object({
  replicas: z.array(ReplicaState),
  circuits: z.array(CircuitState),
  files: z.array(FileState),
  hosts: z.array(HostState),
  upstreams: z.array(UpstreamReport),
  lanes: z.array(LaneState),
  store: StoreState,
  warnings: z.array(OverviewWarning),
});

// Sessions and calls

const OfAllTools = Count.nullable().describe('Of all tools; null for a key that may use some of them only.');
export const SessionItem = z
  .object({
    session: SessionHash.describe('GET /sessions/~{session}.'),
    id: z.string().nullable().describe('As its caller chose it; null unless SESSION_IDS=clear.'),
    state: z.enum(['failing', 'blocked', 'ok']).describe('`blocked`: a tool may not be called any more.'),
    blocked_tools: z.array(z.string()),
    first_at: Moment,
    last_at: Moment,
    calls: OfAllTools,
    failures: OfAllTools,
    last_failure: z.object({ tool: Tool, code: Code, message: z.string(), at: Moment }).nullable(),
    replica: z.string().describe('Where its last call was answered.'),
  })
  .meta({ id: 'SessionItem' });
export const FailedCall = z
  .object({
    reference: z.string(),
    request_id: z.string(),
    index: Count,
    id: z.union([z.string(), z.number(), z.null()]),
    session: SessionHash.nullable(),
    tool: Tool,
    name: z.string().nullable().describe('The name that was asked for, at most 64 characters.'),
    code: Code,
    fault: Fault,
    outcome: z.enum(OUTCOMES),
    executed: z.enum(EXECUTED),
    at: Moment,
    duration_ms: z.number().nonnegative(),
    message: z.string().describe('What the model read, at most 300 characters.'),
    trace_id: z.string().nullable(),
    key: z.string().nullable().describe('The name of the key that sent it.'),
    replica: z.string(),
  })
  .meta({ id: 'FailedCall' });
export const PendingItem = z
  .object({
    call: z.string().describe('The handle: GET /calls/pending/{call}.'),
    request_id: z.string(),
    index: Count,
    tool: z.string(),
    state: z.enum(['queued', 'waiting_for_approval', 'running']),
    lane: z.string().nullable(),
    since: Moment,
    expires_at: Moment,
    session: SessionHash.nullable(),
    key: z.string().nullable(),
    key_hash: z.string().nullable().optional().describe('The first 8 hex digits of the SHA-256 of its API key.'),
  })
  .meta({ id: 'PendingItem' });
const pageOf = <Item extends z.ZodType>(item: Item) =>
  z.object({
    items: z.array(item),
    next_cursor: z.string().nullable().describe('Of the next page; null: this is the last.'),
  });
export const SessionPage = pageOf(SessionItem).meta({ id: 'SessionPage' });
export const FailedCallPage = pageOf(FailedCall).meta({ id: 'FailedCallPage' });
export const PendingPage = pageOf(PendingItem).meta({ id: 'PendingPage' });
const SessionFound = z.object({
  kind: z.literal('session'),
  session: SessionHash,
  state: z.enum(['failing', 'blocked', 'ok']),
});
const CallFound = z.object({ kind: z.literal('call'), reference: z.string(), tool: Tool, code: Code });
const RequestFound = z.object({
  kind: z.literal('request'),
  request_id: z.string(),
  failures: Count.describe('Of the last day: GET /calls?request_id={request_id}.'),
  has_results: z.boolean().describe('GET /tool-calls/{request_id} has them.'),
});
const PendingFound = z.object({
  kind: z.literal('pending'),
  call: z.string(),
  request_id: z.string(),
  index: Count,
  tool: z.string(),
});
export const SearchResult = z
  .object({
    found: z
      .array(z.discriminatedUnion('kind', [SessionFound, CallFound, RequestFound, PendingFound]))
      .describe('At most 20.'),
  })
  .meta({ id: 'SearchResult' });

// Overview

export const Overview = z
  .object({
    at: Moment,
    version: z.string(),
    figures: HourFigures,
    sessions: z.object({
      failing: Count.describe('In the index: at most 1,000 sessions of 24 h.'),
      blocked: z.array(SessionItem).describe('The latest ten with a tool that may not be called any more.'),
    }),
    unknown: z.object({ total: Count }).describe('Writes whose outcome nobody knows: GET /calls/unknown.'),
    approvals: z.object({ total: Count }).describe('Calls that wait for a person: GET /approvals.'),
    ...States.shape,
  })
  .meta({ id: 'Overview' });

// Reports

export const ToolReport = z
  .object({
    tool: Tool,
    calls: Count,
    failures: Count,
    codes: z.array(z.object({ code: Code, fault: Fault, failures: Count })),
    arguments: z
      .array(z.object({ path: z.string(), rule: z.string(), failures: Count }))
      .describe('What models get wrong: where in the arguments, and which rule of the schema. Never a value.'),
    recovered: z
      .object({ sessions: Count, mean_rounds: z.number().nullable() })
      .describe('Sessions in which the tool succeeded after it had failed.'),
    gave_up: Count.describe('Sessions in which it was blocked.'),
  })
  .meta({ id: 'ToolReport' });
export const ToolReports = z
  .object({
    since: Moment,
    until: Moment,
    tools: z.array(ToolReport).describe('Most failures first.'),
    unknown_names: z
      .array(z.object({ name: z.string(), calls: Count, nearest: z.string().nullable() }))
      .describe('Names that were asked for and that no tool has, most asked first.'),
  })
  .meta({ id: 'ToolReports' });

export type MinuteFigures = Readonly<z.infer<typeof MinuteFigures>>;
export type ToolFigures = Readonly<z.infer<typeof ToolFigures>>;
export type FailureCount = Readonly<z.infer<typeof FailureCount>>;
export type HourFigures = Readonly<z.infer<typeof HourFigures>>;
export type ReplicaState = Readonly<z.infer<typeof ReplicaState>>;
export type CircuitState = Readonly<z.infer<typeof CircuitState>>;
export type FileState = Readonly<z.infer<typeof FileState>>;
export type HostState = Readonly<z.infer<typeof HostState>>;
export type LaneState = Readonly<z.infer<typeof LaneState>>;
export type StoreState = Readonly<z.infer<typeof StoreState>>;
export type OverviewWarning = Readonly<z.infer<typeof OverviewWarning>>;
export type States = Readonly<z.infer<typeof States>>;
export type SessionItem = Readonly<z.infer<typeof SessionItem>>;
export type FailedCall = Readonly<z.infer<typeof FailedCall>>;
export type Found = Readonly<z.infer<typeof SearchResult>['found'][number]>;
export type PendingItem = Readonly<z.infer<typeof PendingItem>>;
export type Overview = Readonly<z.infer<typeof Overview>>;
export type ToolReport = Readonly<z.infer<typeof ToolReport>>;
export type ToolReports = Readonly<z.infer<typeof ToolReports>>;
