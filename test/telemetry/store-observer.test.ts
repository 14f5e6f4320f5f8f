import { createLogLines } from '@recourse/test-support/log-lines.ts';
import { expect, test } from 'vitest';
import { createMetrics } from '#src/telemetry/metrics.ts';
import { createSpaceObserver, createStoreObserver } from '#src/telemetry/store-observers.ts';

const OPERATIONS = [
  'connect',
  'admit',
  'settle',
  'read',
  'keyed',
  'pending',
  'rate',
  'page',
  'webhook',
  'space',
  'oncall',
] as const;

const createSubject = () => {
  const metrics = createMetrics('0.0.0');
  const clock = { nowMs: 0 };
  const { log, lines } = createLogLines();
  const options = { metrics, log, now: () => clock.nowMs };
  const [observer, space] = [createStoreObserver(options), createSpaceObserver(options)];
  const exported = async (start: string): Promise<readonly string[]> =>
    (await metrics.registry.metrics()).split('\n').filter((line) => line.startsWith(start));
  return { observer, space, clock, lines, exported };
};

test('every step that a session store takes is timed, and exported before the first of it', async () => {
  const { observer, exported } = createSubject();
  const counts = 'recourse_session_store_operation_duration_seconds_count';
  expect(await exported(counts)).toEqual(OPERATIONS.map((operation) => `${counts}{operation="${operation}"} 0`));
  for (const operation of OPERATIONS) observer.operationEnded(operation, 3);
  expect(await exported(counts)).toEqual(OPERATIONS.map((operation) => `${counts}{operation="${operation}"} 1`));
  expect(
    await exported('recourse_session_store_operation_duration_seconds_bucket{operation="keyed",le="0.0025"}'),
  ).toEqual(['recourse_session_store_operation_duration_seconds_bucket{operation="keyed",le="0.0025"} 0']);
});

test('every step that fails is counted by its reason, and logged once in ten seconds and reason', async () => {
  const { observer, clock, lines, exported } = createSubject();
  for (const operation of OPERATIONS) observer.operationFailed(operation, new Error('Command timed out'));
  observer.operationFailed('keyed', new Error('READONLY You cannot write'));
  expect(await exported('recourse_session_store_errors_total')).toEqual([
    ...OPERATIONS.map(
      (operation) => `recourse_session_store_errors_total{operation="${operation}",reason="timeout"} 1`,
    ),
    'recourse_session_store_errors_total{operation="keyed",reason="readonly"} 1',
  ]);
  expect(lines).toMatchObject([
    { level: 'warn', operation: 'connect', reason: 'timeout', msg: 'session store failed' },
    { level: 'warn', operation: 'keyed', reason: 'readonly', msg: 'session store failed' },
  ]);
  clock.nowMs = 10_000;
  observer.operationFailed('settle', new Error('Command timed out'));
  expect(lines).toHaveLength(3);
});

test('a Redis that evicts when it is full is warned of once, and what finds no room once a minute and tenant', async () => {
  const { space, clock, lines, exported } = createSubject();
  const fill = { used: 10, max: 100, servers: 1 };
  for (const policy of [null, 'noeviction', 'volatile-ttl', 'volatile-ttl', 'noeviction', 'allkeys-lru'])
    space.filled({ ...fill, policy });
  expect(lines).toMatchObject([
    {
      level: 'warn',
      policy: 'volatile-ttl',
      msg: 'Redis may evict budgets and marks of writes: set its maxmemory-policy to noeviction',
    },
    { policy: 'allkeys-lru' },
  ]);
  for (const passedMs of [0, 59_999, 1]) {
    clock.nowMs += passedMs;
    space.notKept('journals', 'store', '');
    space.notKept('results', 'store', 'acme');
    for (const tenant of ['acme', 'acme', 'globex']) space.notKept('results', 'tenant', tenant);
  }
  const inAMinute = ['journals undefined', 'results undefined', 'results acme', 'results globex'];
  expect(lines.slice(2).map(({ kind, tenant }) => `${kind} ${tenant}`)).toEqual([...inAMinute, ...inAMinute]);
  expect(lines[2]).toMatchObject({ level: 'warn', msg: 'the store is nearly full: this kind is not kept' });
  expect(lines[4]).toMatchObject({ msg: 'a tenant keeps its part of the store: more of this kind is not kept' });
  expect(await exported('recourse_session_store_not_kept_total')).toEqual([
    ...['journals', 'results', 'pending_results', 'arguments', 'deliveries', 'index'].flatMap((kind) => [
      `recourse_session_store_not_kept_total{kind="${kind}",limit="store"} ${/^(journals|results)$/.test(kind) ? 3 : 0}`,
      `recourse_session_store_not_kept_total{kind="${kind}",limit="tenant"} ${kind === 'results' ? 9 : 0}`,
    ]),
  ]);
});
