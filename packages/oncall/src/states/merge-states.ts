import type { ToolRegistry } from 'recourse-server/tools/registry';
import type { CircuitState, FileState, HostState, LaneState, ReplicaState, States } from '../contract/contract.ts';
import type { ReplicaReport } from './replica-report.ts';
import { findWarnings, type Viewer } from './warnings.ts';

/** Which tools an upstream, or a file of TOOLS_DIR, offers here. Of one that offers none here nobody knows whose tools it would offer. */
export type ToolOrigins = ReturnType<typeof createToolOrigins>;

export const createToolOrigins = ({ list, reducers }: Pick<ToolRegistry, 'list' | 'reducers'>) => ({
  ofUpstream: (name: string): readonly string[] =>
    list().flatMap((tool) => (tool.upstream?.name === name ? [tool.name] : [])),
  ofFile: (file: string): readonly string[] =>
    [...list(), ...reducers()].flatMap((tool) =>
      tool.runsIn === 'host' && tool.file.path === `${tool.file.root}/${file}` ? [tool.name] : [],
    ),
});

// Three times as long as a replica takes between two reports.
const SILENT_AFTER_MS = 30_000;

/** What replicas say of themselves, the reader's own first, as far as a caller may see it. */
export const mergeStates = (
  written: readonly ReplicaReport[],
  { viewer, origins, now }: { readonly viewer: Viewer; readonly origins: ToolOrigins; readonly now: number },
): States => {
  const reports = written.filter((report) => !isReplaced(report, written, now));
  const replicas = reports.map((report) => describeReplica(report, now));
  const heard = reports.filter((report) => !isSilent(report, now));
  const [own] = reports;
  /** What all say of one kind, with who says it. */
  const each = <Said>(say: (report: ReplicaReport) => readonly Said[]) =>
    heard.flatMap((report) => say(report).map((said) => ({ ...said, replicas: [report.replica] })));
  const maySeeAny = (tools: readonly string[]): boolean => viewer.tools === 'all' || tools.some(viewer.mayUse);
  return {
    replicas,
    circuits: merge(
      each(({ circuits }) => circuits.flatMap((circuit) => showCircuit(circuit, viewer, origins))),
      ({ kind, name }) => `${kind} ${name}`,
      mergeCircuits,
    ),
    files: merge(
      // What a file offers that does not load nobody knows.
      viewer.tools === 'all' ? each(({ files }) => files.map(showFile)) : [],
      ({ file, line, message }) => `${file}:${line} ${message}`,
      (one, other) => ({ ...one, older_version_serves: one.older_version_serves && other.older_version_serves }),
    ),
    hosts: merge(
      each(({ hosts }) => hosts.flatMap((host) => showHosts(host, viewer, origins))),
      ({ file }) => file,
      mergeHosts,
    ),
    upstreams: merge(
      each(({ upstreams }) => upstreams.filter(({ name }) => maySeeAny(origins.ofUpstream(name)))),
      ({ name, status, reason }) => `${name} ${status} ${reason}`,
      (one, other) => ({ ...one, tools: Math.max(one.tools, other.tools) }),
    ),
    lanes: mergeLanes(heard),
    store: { kind: 'memory', status: 'up', used_bytes: null, max_bytes: null, ...toStore(own) },
    warnings: findWarnings(reports, replicas, viewer),
  };
};

const isSilent = ({ seen_at: seenAt }: ReplicaReport, now: number): boolean => now - seenAt >= SILENT_AFTER_MS;

/** Silent, and a process of its name has begun since: its container was started again. */
const isReplaced = (report: ReplicaReport, reports: readonly ReplicaReport[], now: number): boolean =>
  isSilent(report, now) &&
  reports.some((other) => other.replica === report.replica && other.started_at > report.started_at);

/** One entry of those that have one key; its `replicas` are those of all. */
const merge = <Item extends { readonly replicas: string[] }>(
  items: readonly Item[],
  keyOf: (item: Item) => string,
  join: (one: Item, other: Item) => Item,
): Item[] =>
  [...Map.groupBy(items, keyOf).values()].map((same) => ({
    ...same.reduce(join),
    replicas: [...new Set(same.flatMap(({ replicas }) => replicas))],
  }));

const toIso = (moment: number): string => new Date(moment).toISOString();

const describeReplica = (report: ReplicaReport, now: number): ReplicaState => {
  const { replica, role, version, loop_lag_ms, heap_bytes, calls_in_flight, calls_queued } = report;
  const times = { started_at: toIso(report.started_at), seen_at: toIso(report.seen_at) };
  return {
    replica,
    role,
    version,
    ...times,
    is_silent: isSilent(report, now),
    loop_lag_ms,
    heap_bytes,
    calls_in_flight,
    calls_queued,
  };
};

type Said<List extends 'circuits' | 'files' | 'hosts'> = ReplicaReport[List][number];

const showCircuit = (
  { failure, opened_at: openedAt, open_until: openUntil, ...circuit }: Said<'circuits'>,
  { tenant, tools, mayUse }: Viewer,
  origins: ToolOrigins,
): readonly Omit<CircuitState, 'replicas'>[] => {
  const all = circuit.kind === 'tool' ? [circuit.name] : origins.ofUpstream(circuit.name);
  const own = all.filter(mayUse);
  if (own.length === 0 && tools === 'some') return [];
  // What a call of another tenant came to is that tenant's.
  const isShown = failure !== null && failure.tenant === tenant && mayUse(failure.tool);
  const shown = isShown ? { tool: failure.tool, code: failure.code, message: failure.message } : null;
  return [
    {
      ...{ ...circuit, tools: own, opened_at: toIso(openedAt), open_until: toIso(openUntil) },
      failure:
        shown === null || failure === null ? null : { ...shown, request_id: failure.request_id, at: toIso(failure.at) },
    },
  ];
};

const mergeCircuits = (one: CircuitState, other: CircuitState): CircuitState => ({
  ...one,
  state: one.state === 'open' ? 'open' : other.state,
  opened_at: one.opened_at < other.opened_at ? one.opened_at : other.opened_at,
  open_until: one.open_until > other.open_until ? one.open_until : other.open_until,
  failure: (one.failure?.at ?? '') >= (other.failure?.at ?? '') ? one.failure : other.failure,
});

const showFile = ({ file, line, message, older }: Said<'files'>): Omit<FileState, 'replicas'> => ({
  ...{ file, line, message, older_version_serves: older !== null, tools: [...(older ?? [])] },
});

const showHosts = (
  {
    files,
    restarts_by: by,
    last_restart_at: lastAt,
    last_words: words,
    recycled_for: recycledFor,
    ...host
  }: Said<'hosts'>,
  { tools, mayUse, may }: Viewer,
  origins: ToolOrigins,
): readonly Omit<HostState, 'replicas'>[] => {
  const own = tools === 'all' ? files : files.filter((file) => origins.ofFile(file).some(mayUse));
  const isWhollyOwn =
    tools === 'all' || files.every((file) => own.includes(file) && origins.ofFile(file).every(mayUse));
  const [first] = own;
  if (first === undefined) return [];
  const restarts = Object.values(by).reduce((sum, count) => sum + count, 0);
  return [
    {
      ...{ ...host, file: first, files: own.length, restarts, restarts_by: by },
      last_restart_at: lastAt === null ? null : toIso(lastAt),
      // Of tools that share a process nobody knows whose they are.
      ...(may('operate') && isWhollyOwn ? { last_words: words, recycled_for: recycledFor } : { last_words: '' }),
    },
  ];
};

const mergeHosts = (one: HostState, other: HostState): HostState => {
  const isLater = (other.last_restart_at ?? '') > (one.last_restart_at ?? '');
  const reasons = new Set([...Object.keys(one.restarts_by), ...Object.keys(other.restarts_by)]);
  return {
    ...(isLater ? other : one),
    processes: one.processes + other.processes,
    memory_bytes: Math.max(one.memory_bytes ?? 0, other.memory_bytes ?? 0) || null,
    restarts: one.restarts + other.restarts,
    restarts_by: Object.fromEntries(
      [...reasons].map((reason) => [reason, (one.restarts_by[reason] ?? 0) + (other.restarts_by[reason] ?? 0)]),
    ),
  };
};

/** What waits in a lane every replica reads from the queue that they share; what runs is counted by each. */
const mergeLanes = (heard: readonly ReplicaReport[]): LaneState[] => {
  const said = heard.flatMap(({ lanes }) => lanes);
  return [...Map.groupBy(said, ({ lane }) => lane)].map(([lane, same]) => {
    const [{ queued, oldest_ms: oldestMs } = { queued: 0, oldest_ms: 0 }] = same;
    const running = same.reduce((sum, one) => sum + one.running, 0);
    const workers = same.filter(({ is_served: isServed }) => isServed).length;
    return { lane, queued, running, oldest_ms: queued === 0 ? null : oldestMs, workers };
  });
};

const toStore = (own: ReplicaReport | undefined): Partial<States['store']> => {
  if (own === undefined) return {};
  const { policy: _policy, ...store } = own.store;
  return store;
};
