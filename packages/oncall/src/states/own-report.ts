import { hostname } from 'node:os';
import type { CircuitBreakers, OpenCircuit } from 'recourse-server/executor/circuit-breakers';
import type { Redactor } from 'recourse-server/executor/redactor';
import type { UpstreamState } from 'recourse-server/extensions/source';
import type { StoreBackend } from 'recourse-server/sessions/store-backend';
import type { Metrics } from 'recourse-server/telemetry/metrics';
import { MAX_MESSAGE, MAX_REASON, MOST_LISTED, type ReplicaReport } from './replica-report.ts';

/** This process, as people on call read of it: host name and pid. */
export const REPLICA = `${hostname()}:${process.pid}`;

/** Tool files that share processes. */
type HostGroup = {
  readonly files: readonly string[];
  readonly processes: number;
  /** 0: the system does not tell. */
  readonly memoryBytes: number;
  readonly limitBytes: number;
  readonly restarts: ReadonlyMap<string, number>;
  /** By `now`. */
  readonly lastRestartAt: number | null;
  /** Not redacted. */
  readonly lastLines: readonly string[];
  readonly recycledFor: string;
};

/** What the service knows of its own state. */
export type StateSources = {
  readonly circuits: Pick<CircuitBreakers, 'list' | 'close'>;
  readonly tools: {
    readonly hosts: () => readonly HostGroup[];
    readonly readiness: () => {
      readonly missing: readonly string[];
      readonly problems: readonly {
        readonly file: string;
        readonly line: number | null;
        readonly message: string;
        readonly excerpt?: string | null;
        readonly older: readonly string[] | null;
      }[];
    };
    readonly upstreams: () => readonly UpstreamState[];
    readonly configFile: () => { readonly status: string; readonly reason: string | null };
  };
  readonly load: {
    readonly lagMs: () => number | null;
    readonly slots: { readonly load: { readonly running: number; readonly waiting: number } };
  };
  readonly store: { readonly kind: 'redis' | 'sqlite' | 'memory'; readonly isUp: () => boolean };
};

export type ReportParts = StateSources & {
  readonly role: ReplicaReport['role'];
  readonly backend: Pick<StoreBackend, 'space'>;
  readonly redactor: Pick<Redactor, 'cut' | 'text'>;
  readonly metrics: Pick<Metrics, 'jobs' | 'apiKeyFileRefused'>;
  readonly version: string;
  readonly now: () => number;
  readonly time: () => number;
};

/** Reads the state of this process, each time it is asked. */
export const createReportReader = (parts: ReportParts): (() => ReplicaReport) => {
  const { circuits, tools, load, store, backend, metrics, redactor, now, time } = parts;
  const startedAt = time();
  const cut = (text: string, limit: number): string => redactor.cut(text, limit, 'log');
  return () => {
    const at = time();
    /** The store's time of a moment by `now`. */
    const momentOf = (moment: number): number => Math.max(0, at + moment - now());
    const { running, waiting } = load.slots.load;
    const { missing, problems } = tools.readiness();
    const { reason, status } = tools.configFile();
    const fill = backend.space.fill();
    return {
      ...{ replica: REPLICA, role: parts.role, version: parts.version, started_at: startedAt, seen_at: at },
      ...{ loop_lag_ms: load.lagMs(), heap_bytes: process.memoryUsage().heapUsed },
      ...{ calls_in_flight: running, calls_queued: waiting },
      circuits: circuits.list().map((circuit) => describeCircuit(circuit, momentOf, cut)),
      files: problems.slice(0, MOST_LISTED).map(({ file, line, message, excerpt, older }) => ({
        ...{
          file: file.slice(-MAX_REASON),
          line,
          message: cut(excerpt ? `${message}\n${excerpt}` : message, MAX_REASON),
          older: older?.slice(0, MOST_LISTED) ?? null,
        },
      })),
      hosts: tools
        .hosts()
        .slice(0, MOST_LISTED)
        .map((group) => describeHosts(group, momentOf, cut)),
      upstreams: tools
        .upstreams()
        .slice(0, MOST_LISTED)
        .map(({ name, status: upstreamStatus, reason: why, tools: offered }) => ({
          ...{ name, status: upstreamStatus, reason: why === null ? null : cut(why, MAX_REASON), tools: offered },
        })),
      lanes: metrics.jobs.readLanes().map(({ lane, waiting: queued, oldestWaitingMs, running: runs, isServed }) => ({
        ...{ lane, queued, oldest_ms: oldestWaitingMs, running: runs, is_served: isServed },
      })),
      store: {
        ...{ kind: store.kind, status: store.isUp() ? 'up' : 'down', policy: fill?.policy ?? null },
        ...{ used_bytes: fill?.used ?? null, max_bytes: fill === null || fill.max === Infinity ? null : fill.max },
      },
      stale_config: status === 'stale' ? cut(reason ?? '', MAX_REASON) : null,
      stale_keys: metrics.apiKeyFileRefused.count === 1,
      missing_tools: missing.slice(0, MOST_LISTED),
      clock_ahead_ms: Date.now() - at,
    };
  };
};

type Cut = (text: string, limit: number) => string;
type MomentOf = (moment: number) => number;

const describeCircuit = (
  { name, kind, state, openedAt, openUntil, fault }: OpenCircuit,
  momentOf: MomentOf,
  cut: Cut,
) => ({
  ...{ name, kind, state, opened_at: momentOf(openedAt), open_until: momentOf(openUntil) },
  failure:
    fault === null
      ? null
      : {
          ...{ tenant: fault.tenant, tool: fault.tool, code: fault.code, message: cut(fault.message, MAX_MESSAGE) },
          ...{ request_id: fault.requestId, at: momentOf(fault.at) },
        },
});

const MAX_LAST_WORDS = 500;

const describeHosts = (group: HostGroup, momentOf: MomentOf, cut: Cut): ReplicaReport['hosts'][number] => ({
  ...{ files: group.files, processes: group.processes, limit_bytes: group.limitBytes },
  memory_bytes: group.memoryBytes === 0 ? null : group.memoryBytes,
  restarts_by: Object.fromEntries(group.restarts),
  last_restart_at: group.lastRestartAt === null ? null : momentOf(group.lastRestartAt),
  recycled_for: cut(group.recycledFor, MAX_MESSAGE),
  // Each line is redacted whole before the end of them all is taken: half a secret would not be known for one.
  last_words: group.lastLines
    .map((line) => cut(line, MAX_REASON))
    .join('\n')
    .slice(-MAX_LAST_WORDS),
});
