import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import * as z from 'zod';
import { findFreePort, type RedisServer, startRedisServer } from './redis-server.ts';
import { timeLimit } from './time-limit.ts';

/** One of the masters. Restarted it is empty and still the same node: who it is stands in its directory. */
export type RedisClusterNode = RedisServer & {
  /** What the nodes call it. */
  readonly id: string;
  /** A connection to this node alone, for a test's own commands. */
  readonly direct: Redis;
};

/** A Redis Cluster of masters on loopback. It keeps no data on disk and dies with the test's process. */
export type RedisCluster = {
  readonly nodes: readonly RedisClusterNode[];
  /** All of them, as REDIS_URL wants it. */
  readonly urls: string;
  /** Who serves this key, as the nodes see it now. */
  readonly ownerOf: (key: string) => Promise<RedisClusterNode>;
  /** Moves the slot of a key with all it holds; `halfway` runs when its keys are still at the old node. */
  readonly moveSlotOf: (key: string, to: RedisClusterNode, halfway: () => Promise<void>) => Promise<void>;
  /** Resolves when every node says that all slots are served. */
  readonly becomeReady: () => Promise<void>;
  readonly stop: () => Promise<void>;
};

const SLOTS = 16_384;
const NODES = 3;
// Meeting takes three to five seconds by the nodes' own gossip; a machine under full load takes longer.
const READY_TIMEOUT_MS = timeLimit(20_000);
// After this a node that is away is said to have failed, and no slot is served.
const NODE_TIMEOUT_MS = 1000;
const START_ATTEMPTS = 5;

const cluster = (node: RedisClusterNode, ...words: readonly (string | number)[]): Promise<unknown> =>
  node.direct.call('CLUSTER', ...words.map(String));

const startNode = async (settings: readonly string[]): Promise<RedisClusterNode & { readonly busPort: number }> => {
  for (let attempt = 1; ; attempt += 1) {
    // The usual bus port, 10 000 above the other one, may not exist for a free port that the system gives.
    const busPort = await findFreePort();
    const words = ['--cluster-enabled', 'yes', '--cluster-port', String(busPort)];
    const patience = ['--cluster-node-timeout', String(NODE_TIMEOUT_MS)];
    try {
      const server = await startRedisServer({ settings: [...words, ...patience, ...settings] });
      const direct = new Redis(server.port, '127.0.0.1', { commandTimeout: READY_TIMEOUT_MS, lazyConnect: true });
      direct.on('error', () => undefined);
      // Not a copy: the process id of a server changes when it is restarted.
      return Object.assign(server, { direct, busPort, id: String(await direct.call('CLUSTER', 'MYID')) });
    } catch (error) {
      if (attempt === START_ATTEMPTS || !String(error).includes('Address already in use')) throw error;
    }
  }
};

const isReady = async (node: RedisClusterNode): Promise<boolean> => {
  const [info, known] = [String(await cluster(node, 'INFO')), String(await cluster(node, 'NODES'))];
  const connected = known.split('\n').filter((line) => / connected \d/.test(line));
  return info.includes('cluster_state:ok') && connected.length === NODES;
};

const waitUntilReady = async (nodes: readonly RedisClusterNode[]): Promise<void> => {
  const until = performance.now() + READY_TIMEOUT_MS;
  for (const node of nodes) {
    while (!(await isReady(node))) {
      if (performance.now() > until) throw new Error(`The Redis Cluster was not ready in ${READY_TIMEOUT_MS} ms.`);
      await pause(20);
    }
  }
};

const joinNodes = async (nodes: Awaited<ReturnType<typeof startNode>>[]): Promise<void> => {
  for (const [position, node] of nodes.entries()) {
    const range = [position, position + 1].map((step) => Math.floor((SLOTS * step) / nodes.length));
    const [from = 0, end = 0] = range;
    await cluster(node, 'ADDSLOTSRANGE', from, end - 1);
    // Equal epochs are sorted out by gossip, too, but that takes longer than all the rest.
    await cluster(node, 'SET-CONFIG-EPOCH', position + 1);
  }
  const [first, ...others] = nodes;
  if (first === undefined) throw new Error('A cluster has at least one node.');
  for (const { port, busPort } of others) await cluster(first, 'MEET', '127.0.0.1', port, busPort);
  await waitUntilReady(nodes);
};

// From slot, to slot, then who serves them: address, port, id and more.
const Served = z.array(
  z.tuple([z.int(), z.int(), z.tuple([z.string(), z.int(), z.string()]).rest(z.unknown())]).rest(z.unknown()),
);

const findOwner = async (nodes: readonly RedisClusterNode[], key: string): Promise<RedisClusterNode> => {
  const [first] = nodes;
  if (first === undefined) throw new Error('A cluster has at least one node.');
  const slot = Number(await cluster(first, 'KEYSLOT', key));
  const served = Served.parse(await cluster(first, 'SLOTS'));
  const range = served.find(([from, to]) => from <= slot && slot <= to);
  const owner = nodes.find(({ id }) => id === range?.[2][2]);
  if (owner === undefined) throw new Error(`No node serves slot ${slot}.`);
  return owner;
};

const moveSlot = async (
  nodes: readonly RedisClusterNode[],
  move: { readonly slot: number; readonly from: RedisClusterNode; readonly to: RedisClusterNode },
  halfway: () => Promise<void>,
): Promise<void> => {
  const { slot, from, to } = move;
  await cluster(to, 'SETSLOT', slot, 'IMPORTING', from.id);
  await cluster(from, 'SETSLOT', slot, 'MIGRATING', to.id);
  await halfway();
  const keys = await from.direct.cluster('GETKEYSINSLOT', slot, 1000);
  if (keys.length > 0) await from.direct.migrate('127.0.0.1', to.port, '', 0, 5000, 'KEYS', ...keys);
  for (const node of [to, from, ...nodes.filter((other) => other !== to && other !== from)])
    await cluster(node, 'SETSLOT', slot, 'NODE', to.id);
};

/** Starts three masters that share all slots, and waits until each knows the others. `settings` are for each of them. */
export const startRedisCluster = async (settings: readonly string[] = []): Promise<RedisCluster> => {
  const nodes = await Promise.all(Array.from({ length: NODES }, () => startNode(settings)));
  const stop = async (): Promise<void> => {
    for (const { direct } of nodes) direct.disconnect();
    await Promise.all(nodes.map((node) => node.stop()));
  };
  try {
    await joinNodes(nodes);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    nodes,
    urls: nodes.map(({ url }) => url).join(','),
    ownerOf: (key) => findOwner(nodes, key),
    moveSlotOf: async (key, to, halfway) => {
      const [slot, from] = [Number(await cluster(to, 'KEYSLOT', key)), await findOwner(nodes, key)];
      await moveSlot(nodes, { slot, from, to }, halfway);
    },
    becomeReady: () => waitUntilReady(nodes),
    stop,
  };
};
