import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { FROM_SOURCES } from '@recourse/test-support/node-flags.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';
import { COUNT, useClusterClients } from '#test/sessions/cluster-clients.ts';

const COUNT_SHA = createHash('sha1').update(COUNT).digest('hex');

const { cluster, connect, errors, keyAt, nodeAt } = useClusterClients();

test('a script goes to the node that serves its keys, be it one or two, and each node has scripts of its own', async () => {
  const client = await connect();
  for (const node of cluster().nodes) {
    const key = await keyAt(node);
    await expect(client.call('EVALSHA', COUNT_SHA, '1', key)).rejects.toThrow('NOSCRIPT');
    expect(await client.call('EVAL', COUNT, '1', key)).toBe(1);
    expect(await client.call('EVALSHA', COUNT_SHA, '1', key)).toBe(2);
    expect(await client.call('EVALSHA', COUNT_SHA, '2', key, `${key}:journal`, 'word')).toBe(3);
    expect(await node.direct.get(key)).toBe('3');
  }
  expect(errors).toEqual([]);
});

test('one URL of a list is enough to find the others', async () => {
  const client = await connect(`${cluster().nodes[0]?.url}, redis://127.0.0.1:1`);
  for (const node of cluster().nodes) expect(await client.call('SET', await keyAt(node), 'x')).toBe('OK');
});

test('while a slot moves to another node each command is done once, and none fails', async () => {
  const client = await connect();
  const [from, to] = [nodeAt(0), nodeAt(1)];
  const key = await keyAt(from);
  await client.call('EVAL', COUNT, '1', key);
  let moved = false;
  const counts: unknown[] = [];
  const count = async (): Promise<void> => {
    while (!moved) counts.push(await client.call('EVAL', COUNT, '1', key));
  };
  const counting = [count(), count(), count()];
  // A key of the slot that is not there yet is made at the new node: ASK.
  const other = `${key}:made halfway`;
  await cluster().moveSlotOf(key, to, async () => {
    expect(await client.call('EVAL', COUNT, '1', other)).toBe(1);
    expect(await to.direct.call('CLUSTER', 'COUNTKEYSINSLOT', await to.direct.cluster('KEYSLOT', key))).toBe(1);
  });
  counts.push(await client.call('EVAL', COUNT, '1', key));
  moved = true;
  await Promise.all(counting);
  expect(await cluster().ownerOf(key)).toBe(to);
  expect(await to.direct.get(key)).toBe(String(counts.length + 1));
  expect(new Set(counts).size).toBe(counts.length);
  expect(await client.call('EVAL', COUNT, '1', other)).toBe(2);
});

test('a client that is ready is connected to every node: of many commands at once none is refused', async () => {
  const client = await connect();
  const all = await Promise.all(cluster().nodes.map(keyAt));
  const counts = Promise.all(
    Array.from({ length: 20 }, () => all.map((key) => client.call('EVAL', COUNT, '1', key))).flat(),
  );
  expect((await counts).toSorted()).toHaveLength(60);
  expect(errors).toEqual([]);
});

test('a script whose two keys are at different nodes for the moment is given up in time, and not run later', async () => {
  const [from, to] = [nodeAt(0), nodeAt(2)];
  const key = await keyAt(from);
  // Far less than ioredis by itself goes on trying.
  const client = await connect(cluster().urls, 500);
  await client.call('SET', `${key}:journal`, 'x');
  await cluster().moveSlotOf(key, to, async () => {
    await expect(client.call('EVAL', COUNT, '2', key, `${key}:journal`)).rejects.toThrow(
      /TRYAGAIN|Cluster redirections/,
    );
  });
  expect(await client.call('EVAL', COUNT, '2', key, `${key}:journal`)).toBe(1);
});

test('the password of the first URL is that of every node, listed or not', async () => {
  const configure = (password: string) =>
    Promise.all(cluster().nodes.map(({ direct }) => direct.config('SET', 'requirepass', password)));
  onTestFinished(() => configure('').then(() => undefined));
  await configure('p@ss word');
  const listed = cluster()
    .nodes.slice(0, 2)
    .map(({ port }) => `redis://:p%40ss%20word@127.0.0.1:${port}`);
  const client = await connect(listed.join(','));
  for (const node of cluster().nodes) expect(await client.call('SET', await keyAt(node), 'x')).toBe('OK');
});

const CLIENT = fileURLToPath(import.meta.resolve('@recourse/store-redis/redis-client'));

/** How a process ends that lets go of its client, once it has done something or at once. */
const exitOf = async (act: string): Promise<unknown> => {
  const script = `const { createRedisClient } = await import(${JSON.stringify(CLIENT)});
    const client = createRedisClient(${JSON.stringify(cluster().urls)});
    client.onError(() => undefined);
    ${act}
    client.disconnect();`;
  const child = spawn(process.execPath, [...FROM_SOURCES, '--input-type=module', '--eval', script], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [code]: unknown[] = await once(child, 'exit', { signal: AbortSignal.timeout(timeLimit(20_000)) });
  return code;
};

test('disconnecting lets the process end: in use, while it connects, and before', async () => {
  const connected = 'const ready = new Promise((resolve) => client.onReady(resolve)); client.connect(); await ready;';
  expect(await exitOf(`${connected} await client.call('GET', 'a'); await client.call('GET', 'b');`)).toBe(0);
  expect(await exitOf('client.connect(); await new Promise(setImmediate);')).toBe(0);
  expect(await exitOf('')).toBe(0);
  for (const node of cluster().nodes) node.pause();
  onTestFinished(() => cluster().becomeReady());
  expect(await exitOf("client.connect(); await client.call('GET', 'a').catch(() => undefined);")).toBe(0);
  for (const node of cluster().nodes) node.resume();
});
