import {
  type CountingService,
  measureOutage,
  RECOVERY,
  startCountingService,
} from '@recourse/test-support/counting-service.ts';
import { type RedisCluster, type RedisClusterNode, startRedisCluster } from '@recourse/test-support/redis-cluster.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';

let cluster: RedisCluster;

beforeAll(async () => {
  cluster = await startRedisCluster();
}, timeLimit(60_000));

afterEach(async () => {
  for (const { direct } of cluster.nodes) await direct.flushall();
});

afterAll(() => cluster.stop());

const start = (): Promise<CountingService> => startCountingService({ REDIS_URL: cluster.urls });

/** The keys of sessions that a node holds. */
const keysAt = ({ direct }: RedisClusterNode): Promise<readonly string[]> => direct.keys('recourse2:{anonymous:*');

/** A session that is kept at one of the nodes, and which one. */
const place = async ({ served }: CountingService, session: string): Promise<RedisClusterNode> => {
  const before = await Promise.all(cluster.nodes.map(keysAt));
  await served(session);
  const after = await Promise.all(cluster.nodes.map(keysAt));
  const node = cluster.nodes.find((_, position) => after[position]?.length !== before[position]?.length);
  if (node === undefined) throw new Error(`${session} is kept nowhere.`);
  return node;
};

/** Sessions of this service, at least one at each node. */
const placeEverywhere = async (lab: CountingService): Promise<ReadonlyMap<RedisClusterNode, string>> => {
  const placed = new Map<RedisClusterNode, string>();
  for (let count = 0; placed.size < cluster.nodes.length; count += 1)
    placed.set(await place(lab, `session ${count}`), `session ${count}`);
  return placed;
};

test('sessions are spread over the nodes, each with all its keys at one, and budgets are counted there', async () => {
  const lab = await start();
  const placed = await placeEverywhere(lab);
  for (const [node, session] of placed) {
    for (const used of [1, 2, 3])
      expect(await lab.fail(session)).toMatchObject({ retry: { mode: 'redis', used, remaining: 3 - used } });
    expect((await lab.fail(session)).error?.code).toBe('retry_budget_exhausted');
    for (const key of await keysAt(node)) expect(await cluster.ownerOf(key)).toBe(node);
  }
  expect(await lab.readiness()).toMatchObject({ status: 200, body: { status: 'ready' } });
});

/** Without those that a busy machine causes: it takes longer than 50 ms for anything. */
const errorsBut = async (lab: CountingService): Promise<Readonly<Record<string, number>>> => ({
  ...(await lab.errors()),
  timeout: 0,
});

test('while the slot of a session moves to another node and back its batches go on, and no node is taken for lost', async () => {
  const lab = await start();
  const session = 'moving';
  const from = await place(lab, session);
  const to = cluster.nodes.find((node) => node !== from);
  const [key = ''] = await keysAt(from);
  if (to === undefined) throw new Error('There is one node only.');
  const before = await errorsBut(lab);
  let moved = false;
  const codes = new Set<string | undefined>();
  const others = Array.from({ length: 4 }, async (_, number) => {
    for (let count = 0; !moved; count += 1) codes.add((await lab.fail(`beside ${number} ${count}`)).error?.code);
  });
  await cluster.moveSlotOf(key, to, async () => {
    expect((await lab.served(session)).retry?.used).toBeGreaterThan(0);
  });
  expect(await cluster.ownerOf(key)).toBe(to);
  expect((await lab.served(session)).retry?.used).toBeGreaterThan(1);
  await cluster.moveSlotOf(key, from, async () => undefined);
  await lab.served(session);
  moved = true;
  await Promise.all(others);
  expect(codes).toEqual(new Set(['retry_requested']));
  expect((await lab.served(session)).error?.code).toBe('retry_budget_exhausted');
  expect(await errorsBut(lab)).toEqual(before);
});

test('scripts are sent to each node that has not got them', async () => {
  const lab = await start();
  const placed = await placeEverywhere(lab);
  const before = await errorsBut(lab);
  for (const { direct } of cluster.nodes) await direct.script('FLUSH');
  for (const session of placed.values()) expect((await lab.served(session)).retry?.used).toBeGreaterThan(0);
  expect(await errorsBut(lab)).toEqual(before);
});

test('a node that is killed: no batch fails or waits long, and its sessions go on as this replica knows them', async () => {
  const lab = await start();
  const placed = await placeEverywhere(lab);
  const [node, session] = [...placed][0] ?? [];
  if (node === undefined || session === undefined) throw new Error('Nothing is placed.');
  const { first, later } = await measureOutage({ ...lab, fail: () => lab.fail(session) }, () => node.kill());
  expect(first).toBeLessThan(timeLimit(600));
  expect(later).toBeLessThan(10);
  // The others notice that it is gone, and serve no slot any more.
  const away = async () => {
    for (const other of placed.values()) expect((await lab.fail(other)).retry?.mode).toBe('local');
    return (await lab.errors())['clusterdown'] ?? 0;
  };
  await expect.poll(away, RECOVERY).toBeGreaterThan(0);
  expect(await lab.readiness()).toMatchObject({ status: 200, body: { status: 'degraded' } });
  await node.restart();
  await cluster.becomeReady();
  // It had failed before, and here.
  expect((await lab.served(session)).retry?.used).toBeGreaterThan(0);
});

test('a node that is stopped: one batch waits for it, those after it do not', async () => {
  const lab = await start();
  const placed = await placeEverywhere(lab);
  const [node, session] = [...placed][0] ?? [];
  if (node === undefined || session === undefined) throw new Error('Nothing is placed.');
  const { first, later } = await measureOutage({ ...lab, fail: () => lab.fail(session) }, async () => node.pause());
  expect(first).toBeLessThan(timeLimit(600));
  expect(later).toBeLessThan(10);
  node.resume();
  await cluster.becomeReady();
  expect((await lab.served(session)).retry?.mode).toBe('redis');
});

test('a cluster that is away at start: the service serves, says that it is degraded, and uses it once it is there', async () => {
  for (const node of cluster.nodes) await node.kill();
  const lab = await start();
  await expect.poll(lab.readiness, RECOVERY).toMatchObject({ status: 200, body: { status: 'degraded' } });
  expect(await lab.fail('a')).toMatchObject({ retry: { mode: 'local', used: 0 } });
  for (const node of cluster.nodes) await node.restart();
  await cluster.becomeReady();
  await expect.poll(lab.readiness, RECOVERY).toMatchObject({ status: 200, body: { status: 'ready' } });
  expect(await lab.served('a')).toMatchObject({ retry: { used: 1 } });
});
