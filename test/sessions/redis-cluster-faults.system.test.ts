import type { RedisClusterNode } from '@recourse/test-support/redis-cluster.ts';
import { startTcpProxy, type TcpProxy } from '@recourse/test-support/tcp-proxy.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';
import { COUNT, RECOVERY, useClusterClients } from '#test/sessions/cluster-clients.ts';

const { cluster, connect, errors, keyAt, nodeAt } = useClusterClients();

/** Sends clients of this node through a proxy: the cluster itself tells them to. */
const proxied = async (node: RedisClusterNode): Promise<TcpProxy> => {
  const proxy = await startTcpProxy({ to: node.port });
  onTestFinished(async () => {
    proxy.close();
    await announce(node, 0);
  });
  await announce(node, proxy.port);
  return proxy;
};

const announce = async (node: RedisClusterNode, port: number): Promise<void> => {
  await node.direct.config('SET', 'cluster-announce-port', port);
  const said = async (): Promise<boolean> => {
    const slots = await Promise.all(cluster().nodes.map(({ direct }) => direct.cluster('SLOTS')));
    return slots.every((served) => JSON.stringify(served).includes(`"127.0.0.1",${port === 0 ? node.port : port},`));
  };
  await expect.poll(said, RECOVERY).toBe(true);
};

test('a command whose answer was lost with its connection fails at once, and is not sent again', async () => {
  const node = nodeAt(2);
  const key = await keyAt(node);
  const proxy = await proxied(node);
  const client = await connect();
  await client.call('PEXPIRE', key, '1');
  proxy.delay(100);
  const lost = client.call('EVAL', COUNT, '1', key);
  const outcome = expect(lost).rejects.toThrow('Connection is closed');
  await expect.poll(() => node.direct.get(key), RECOVERY).toBe('1');
  proxy.cut();
  proxy.delay(0);
  await outcome;
  // ioredis by itself would send it again after 100 ms; by then these have found their way.
  for (let count = 2; count < 30; count += 1) {
    expect(await client.call('EVAL', COUNT, '1', key)).toBe(count);
    await client.call('BLPOP', `${key}:nothing`, '0.02');
  }
});

test('a node that is killed costs its own keys only, within the time limit, and is found again when it is back', async () => {
  const [node, other] = [nodeAt(0), nodeAt(2)];
  const [key, otherKey] = [await keyAt(node), await keyAt(other)];
  const client = await connect(cluster().urls, 50);
  const count = (at: string) => client.call('EVAL', COUNT, '1', at);
  await count(key);
  await node.kill();
  const startedAt = performance.now();
  await expect(count(key)).rejects.toThrow();
  await expect(count(key)).rejects.toThrow();
  expect(performance.now() - startedAt).toBeLessThan(timeLimit(1000));
  await expect.poll(() => count(otherKey).catch(String), RECOVERY).toMatch(/CLUSTERDOWN/);
  expect(errors.length).toBeGreaterThan(0);
  await node.restart();
  await expect.poll(() => count(key).catch(String), RECOVERY).toBe(1);
  await cluster().becomeReady();
});

test('a node that is stopped costs one time limit, and commands it never read are not done twice', async () => {
  const node = nodeAt(1);
  const key = await keyAt(node);
  const client = await connect(cluster().urls, 50);
  await client.call('EVAL', COUNT, '1', key);
  node.pause();
  const startedAt = performance.now();
  await expect(client.call('EVAL', COUNT, '1', key)).rejects.toThrow('Command timed out');
  expect(performance.now() - startedAt).toBeLessThan(timeLimit(1000));
  node.resume();
  await cluster().becomeReady();
  const next = async () => client.call('EVAL', COUNT, '1', key).catch(String);
  await expect.poll(next, RECOVERY).toBe(3);
});

test('a cluster that is gone as a whole is said to be lost, once it is back to be ready, and nothing is left behind', async () => {
  const client = await connect(cluster().urls, 50);
  const said: string[] = [];
  client.onLost(() => said.push('lost'));
  client.onReady(() => said.push('ready'));
  const all = await Promise.all(cluster().nodes.map(keyAt));
  const countAll = async () =>
    (await Promise.allSettled(all.map((key) => client.call('EVAL', COUNT, '1', key)))).map(({ status }) => status);
  expect(await countAll()).toEqual(['fulfilled', 'fulfilled', 'fulfilled']);
  for (const node of cluster().nodes) await node.kill();
  await expect.poll(() => said.includes('lost'), RECOVERY).toBe(true);
  expect(await countAll()).toEqual(['rejected', 'rejected', 'rejected']);
  const abandoned = all.map((key) => `${key}:abandoned`);
  for (const key of abandoned) await expect(client.call('EVAL', COUNT, '1', key)).rejects.toThrow();
  for (const node of cluster().nodes) await node.restart();
  await cluster().becomeReady();
  await expect.poll(countAll, RECOVERY).toEqual(['fulfilled', 'fulfilled', 'fulfilled']);
  expect(said.at(-1)).toBe('ready');
  for (const key of abandoned) expect(await client.call('EXISTS', key)).toBe(0);
  const losses = said.length;
  client.disconnect();
  await expect(client.call('PING')).rejects.toThrow();
  expect(said).toHaveLength(losses);
});
