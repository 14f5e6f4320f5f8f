import { setTimeout as pause } from 'node:timers/promises';
import { startRedisServer } from '@recourse/test-support/redis-server.ts';
import { connectToRedis } from '@recourse/test-support/session-stores-under-test.ts';
import { startProcess } from '@recourse/test-support/start-process.ts';
import { startTcpProxy } from '@recourse/test-support/tcp-proxy.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { ALL_WRITTEN_ONCE, beginEach, createWriteLoad } from '@recourse/test-support/write-load.ts';
import { expect, onTestFinished, test } from 'vitest';

// Two replicas, and a Redis that is away, refuses or is slow for seconds while writes are sent, wait and run.

const start = async () => {
  const server = await startRedisServer();
  onTestFinished(server.stop);
  const proxy = await startTcpProxy({ to: server.port });
  onTestFinished(proxy.close);
  const direct = await connectToRedis(server.url);
  onTestFinished(() => direct.disconnect());
  const urls: string[] = [];
  const load = createWriteLoad(() => urls);
  const environment = { REDIS_URL: `redis://127.0.0.1:${proxy.port}`, TOOLS_DIR: load.toolsDirectory };
  const startReplica = () => startProcess({ by: 'node', environment });
  for (const { url } of await Promise.all([startReplica(), startReplica()])) urls.push(url);
  return { proxy, direct, load };
};

type Lab = Awaited<ReturnType<typeof start>>;

/** A fault that lasts `ms`. `taken`: the part of the writes sent meanwhile that must be taken at once. */
type Fault = {
  readonly name: string;
  readonly ms: number;
  readonly taken: number;
  readonly begin: (lab: Lab) => unknown;
  readonly end: (lab: Lab) => unknown;
};

const FAULTS: readonly Fault[] = [
  {
    name: 'is full (OOM)',
    ms: 6000,
    taken: 0,
    begin: ({ direct }) => direct.config('SET', 'maxmemory', '1'),
    end: ({ direct }) => direct.config('SET', 'maxmemory', '0'),
  },
  {
    name: 'takes no writes (READONLY)',
    ms: 6000,
    taken: 0,
    begin: ({ direct }) => direct.replicaof('127.0.0.1', 1),
    end: ({ direct }) => direct.replicaof('NO', 'ONE'),
  },
  {
    name: 'is behind a black hole',
    ms: 8000,
    taken: 0,
    begin: ({ proxy }) => proxy.freeze(),
    end: ({ proxy }) => proxy.thaw(),
  },
  {
    name: 'is 80 ms away in each direction',
    ms: 4000,
    taken: 0.9,
    begin: ({ proxy }) => proxy.delay(80),
    end: ({ proxy }) => proxy.delay(0),
  },
  {
    name: 'takes 60 ms for what it writes',
    ms: 4000,
    taken: 0.9,
    begin: ({ proxy }) => proxy.slowAnswers({ word: 'EVALSHA', ms: 60 }),
    end: ({ proxy }) => proxy.slowAnswers(null),
  },
];

// Pending writes that run while the fault begins, and end after it.
const RUNNING = 20;
const PER_SECOND = 10;
const QUIET_MS = 1000;

test.each(FAULTS)(
  'Redis $name: each write is written once, and none is unknown',
  {
    timeout: timeLimit(150_000),
  },
  async ({ name, ms, taken, begin, end }) => {
    const lab = await start();
    const { load } = lab;
    const running = Array.from({ length: RUNNING }, () => load.write({ tool: 'queued', ms: ms + 2000 }));
    let isOn = true;
    let isFault = false;
    const sent = beginEach(
      PER_SECOND,
      () => isOn,
      async (count) => {
        const isMeanwhile = isFault;
        return { isMeanwhile, end: await load.write({ tool: count % 2 === 0 ? 'direct' : 'queued', ms: 20 }) };
      },
    );
    await pause(QUIET_MS);
    isFault = true;
    await begin(lab);
    await pause(ms);
    isFault = false;
    await end(lab);
    await pause(QUIET_MS);
    isOn = false;
    const all = await sent;
    const ends = [...(await Promise.all(running)), ...all.map((one) => one.end)];
    const meanwhile = all.filter(({ isMeanwhile }) => isMeanwhile);
    const takenAtOnce = meanwhile.filter((one) => one.end.refusals === 0).length;
    const latestMs = Math.max(...ends.map(({ tookMs }) => tookMs));
    process.stdout.write(
      `Redis ${name}: ${ends.length} writes, ${takenAtOnce} of ${meanwhile.length} taken at once meanwhile, the latest after ${(latestMs / 1000).toFixed(1)} s\n`,
    );
    expect(load.judge(ends)).toEqual(ALL_WRITTEN_ONCE);
    expect(takenAtOnce).toBeGreaterThanOrEqual(Math.floor(taken * meanwhile.length));
  },
);
