import { mergeStates } from '@recourse/oncall/states/merge-states';
import type { ReplicaReport } from '@recourse/oncall/states/replica-report';
import { expect, test } from 'vitest';

const NOW = 1_800_000_000_000;

const reportOf = (replica: string, more: Partial<ReplicaReport> = {}): ReplicaReport => ({
  ...{ replica, role: 'service', version: '1.0.0', started_at: NOW - 60_000, seen_at: NOW },
  ...{ loop_lag_ms: 1.5, heap_bytes: 1, calls_in_flight: 2, calls_queued: 3 },
  ...{ circuits: [], files: [], hosts: [], upstreams: [], lanes: [], missing_tools: [] },
  store: { kind: 'redis', status: 'up', used_bytes: 10, max_bytes: 100, policy: 'noeviction' },
  ...{ stale_config: null, stale_keys: false, clock_ahead_ms: 0 },
  ...more,
});

const ORIGINS = {
  ofUpstream: (name: string) => (name === 'mcp:crm' ? ['crm_find', 'crm_write'] : []),
  ofFile: (file: string) => file.replace('.ts', '').split('+'),
};

const viewerOf = (tools: readonly string[] | 'all', may: readonly string[] = ['operate'], tenant = 'acme') => ({
  tenant,
  tools: tools === 'all' ? ('all' as const) : ('some' as const),
  mayUse: (tool: string) => tools === 'all' || tools.includes(tool),
  may: (operation: string) => may.includes(operation),
});

const merge = (reports: readonly ReplicaReport[], viewer = viewerOf('all')) =>
  mergeStates(reports, { viewer, origins: ORIGINS, now: NOW });

const circuitOf = (state: 'open' | 'half_open', openedAt: number, tenant = 'acme') => ({
  ...({ name: 'mcp:crm', kind: 'upstream', state, opened_at: openedAt, open_until: openedAt + 10_000 } as const),
  failure: {
    ...({
      tenant,
      tool: 'crm_find',
      code: 'timeout',
      message: `at ${openedAt}`,
      request_id: 'r',
      at: openedAt,
    } as const),
  },
});

const iso = (moment: number): string => new Date(moment).toISOString();

test('a circuit of several replicas is one entry: open where one is, since the first, with the last failure', () => {
  const reports = [
    reportOf('a:1', { circuits: [circuitOf('half_open', NOW - 9000)] }),
    reportOf('b:1', { circuits: [circuitOf('open', NOW - 5000)] }),
    reportOf('c:1'),
  ];
  expect(merge(reports).circuits).toEqual([
    {
      ...{ name: 'mcp:crm', kind: 'upstream', tools: ['crm_find', 'crm_write'], state: 'open' },
      ...{ opened_at: iso(NOW - 9000), open_until: iso(NOW + 5000), replicas: ['a:1', 'b:1'] },
      failure: {
        ...{ tool: 'crm_find', code: 'timeout', message: `at ${NOW - 5000}`, request_id: 'r', at: iso(NOW - 5000) },
      },
    },
  ]);
});

test('a caller sees of a shared circuit its own tools, and no failure of another tenant or of a tool that it may not use', () => {
  const reports = [reportOf('a:1', { circuits: [circuitOf('open', NOW)] })];
  const seenBy = (...viewer: Parameters<typeof viewerOf>) => merge(reports, viewerOf(...viewer)).circuits;
  expect(seenBy(['crm_find'])).toMatchObject([{ tools: ['crm_find'], failure: { tool: 'crm_find' } }]);
  expect(seenBy(['crm_write'])).toMatchObject([{ tools: ['crm_write'], failure: null }]);
  expect(seenBy('all', [], 'globex')).toMatchObject([{ failure: null }]);
  expect(seenBy(['echo'])).toEqual([]);
});

const host = {
  ...{ processes: 2, memory_bytes: 50, limit_bytes: 100, last_restart_at: NOW - 1000, last_words: 'out of memory' },
  recycled_for: '',
};

test('processes of one file are added up over replicas, and a key sees the files whose tools it may use', () => {
  const files = ['one.ts', 'two.ts'];
  const reports = [
    reportOf('a:1', { hosts: [{ ...host, files, restarts_by: { oom: 2, recycle: 1 } }] }),
    reportOf('b:1', {
      hosts: [
        { ...host, files, memory_bytes: 70, restarts_by: { oom: 1 }, last_restart_at: NOW - 10, last_words: 'later' },
      ],
    }),
  ];
  const [all] = merge(reports).hosts;
  expect(all).toMatchObject({
    ...{ file: 'one.ts', files: 2, processes: 4, memory_bytes: 70, restarts: 4, restarts_by: { oom: 3, recycle: 1 } },
    ...{ last_restart_at: iso(NOW - 10), last_words: 'later', replicas: ['a:1', 'b:1'] },
  });
  expect(merge(reports, viewerOf('all', [])).hosts).toMatchObject([{ last_words: '' }]);
  // Of files that share a process nobody knows whose words they are.
  expect(merge(reports, viewerOf(['two'])).hosts).toMatchObject([{ file: 'two.ts', files: 1, last_words: '' }]);
  expect(merge(reports, viewerOf(['echo'])).hosts).toEqual([]);
});

test('the last words of a file with several tools are shown to keys that may use all of them', () => {
  const reports = [
    reportOf('a:1', { hosts: [{ ...host, files: ['look+pay.ts'], restarts_by: {}, recycled_for: 'its heap' }] }),
  ];
  const wordsFor = (...tools: readonly string[]) => merge(reports, viewerOf(tools)).hosts;
  expect(wordsFor('look', 'pay')).toMatchObject([{ last_words: 'out of memory', recycled_for: 'its heap' }]);
  expect(wordsFor('look')).toMatchObject([{ file: 'look+pay.ts', last_words: '' }]);
  expect(wordsFor('look')[0]).not.toHaveProperty('recycled_for');
});

test('files that do not load, and upstreams whose tools nobody knows, are shown to keys that may use every tool', () => {
  const upstream = (name: string) => ({ name, status: 'down', reason: 'refused', tools: 0 });
  const file = { file: 'x.ts', line: 3, message: 'Syntax error', older: ['x'] };
  const reports = ['a:1', 'b:1'].map((replica) =>
    reportOf(replica, { files: [file], upstreams: [upstream('mcp:crm'), upstream('mcp:never')] }),
  );
  const all = merge(reports);
  expect(all.files).toEqual([
    {
      ...{ file: 'x.ts', line: 3, message: 'Syntax error', older_version_serves: true, tools: ['x'] },
      replicas: ['a:1', 'b:1'],
    },
  ]);
  expect(all.upstreams.map(({ name }) => name)).toEqual(['mcp:crm', 'mcp:never']);
  const some = merge(reports, viewerOf(['crm_find', 'x']));
  expect([some.files, some.upstreams.map(({ name }) => name)]).toEqual([[], ['mcp:crm']]);
});

test('a replica is silent after 30 s: it is named, and its states are left out', () => {
  const circuits = [circuitOf('open', NOW)];
  const reports = [reportOf('a:1'), reportOf('b:1', { circuits, version: '0.9.0', seen_at: NOW - 30_000 })];
  const states = merge(reports);
  expect(states.replicas.map(({ is_silent: isSilent }) => isSilent)).toEqual([false, true]);
  expect(states.circuits).toEqual([]);
  // Versions that nobody runs any more do not differ.
  expect(states.warnings).toMatchObject([{ code: 'replica_silent', replicas: ['b:1'] }]);
  expect(merge([reportOf('a:1'), reportOf('b:1', { circuits, seen_at: NOW - 29_999 })]).circuits).toHaveLength(1);
});

test('calls that run in a lane are added up, those that wait are in the queue that all share', () => {
  const lane = { lane: 'slow', queued: 7, oldest_ms: 900, running: 2, is_served: true };
  const reports = [
    reportOf('a:1', { lanes: [{ ...lane, is_served: false, running: 0 }] }),
    reportOf('b:1', { role: 'worker', lanes: [lane] }),
    reportOf('c:1', { role: 'worker', lanes: [lane] }),
  ];
  const [own] = reports;
  expect(merge(reports).lanes).toEqual([{ lane: 'slow', queued: 7, running: 4, oldest_ms: 900, workers: 2 }]);
  expect(merge(reports).warnings).toEqual([]);
  expect(merge(own === undefined ? [] : [own]).warnings).toMatchObject([
    { code: 'lane_without_worker', message: expect.stringContaining('slow') },
  ]);
});

test('each warning names the replicas that it is of, once', () => {
  const full = { kind: 'redis', status: 'up', used_bytes: 80, max_bytes: 100, policy: 'allkeys-lru' } as const;
  const reports = [
    reportOf('a:1', { store: full, clock_ahead_ms: -5001 }),
    reportOf('b:1', { store: { ...full, used_bytes: 82 }, version: '2.0.0' }),
    reportOf('c:1', { store: { ...full, status: 'down', used_bytes: null, policy: null } }),
  ];
  const { warnings } = merge(reports);
  expect(warnings.map(({ code, replicas }) => `${code} ${replicas}`)).toEqual([
    ...[
      'versions_differ a:1,b:1,c:1',
      'store_full a:1,b:1',
      'store_evicts a:1,b:1',
      'clock_differs a:1',
      'store_down c:1',
    ],
  ]);
  expect(warnings[0]?.message).toContain('1.0.0 (a:1, c:1); 2.0.0 (b:1)');
});

test('a container that is started again takes the place of the one of its name before, with its warnings', () => {
  const killed = reportOf('abc:1', { started_at: NOW - 900_000, seen_at: NOW - 31_000 });
  const down = { kind: 'redis', status: 'down', used_bytes: null, max_bytes: null, policy: null } as const;
  const again = reportOf('abc:1', { store: down });
  const { replicas, warnings } = merge([again, killed]);
  expect(replicas).toMatchObject([{ replica: 'abc:1', is_silent: false }]);
  expect(warnings).toMatchObject([{ code: 'store_down', replicas: ['abc:1'] }]);
  // Two that live under one name are two, and so are two of which the older one lives.
  expect(merge([again, reportOf('abc:1', { started_at: NOW - 900_000 })]).replicas).toHaveLength(2);
  const older = reportOf('abc:1', { store: down, started_at: NOW - 900_000 });
  expect(merge([older, reportOf('abc:1', { seen_at: NOW - 31_000 })]).warnings).toMatchObject([
    { code: 'replica_silent' },
    { code: 'store_down' },
  ]);
});
