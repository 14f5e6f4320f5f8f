import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import type { ToolResult } from '#src/contract/tool-result.ts';
import { RECOVERY } from '#test/support/counting-service.ts';
import { createActor, createKeyedClient, freshName, startLab } from '#test/support/keyed-client.ts';
import { createPendingClient } from '#test/support/pending-client.ts';
import { type SentinelSettings, type SentinelSetup, startRedisSentinels } from '#test/support/redis-sentinel.ts';
import { timeLimit } from '#test/support/time-limit.ts';

const PATIENCE = timeLimit(120_000);

const start = async (settings: SentinelSettings = {}): Promise<SentinelSetup> => {
  const setup = await startRedisSentinels(settings);
  onTestFinished(setup.stop);
  return setup;
};

const masterOf = async ({ servers, masterPort }: SentinelSetup) => {
  const port = await masterPort();
  const server = servers.find((one) => one.port === port);
  if (server === undefined) throw new Error('No server is the master.');
  return server;
};

/** What one unit of work came to: `ok`, or why it was given up. Sent again with its key while it says that nothing ran. */
const finish = async (send: () => Promise<ToolResult | undefined>): Promise<string> => {
  const end = performance.now() + PATIENCE;
  for (;;) {
    const result = await send();
    if (result?.error === null) return 'ok';
    const code = result?.error.code;
    if (code !== undefined && code !== 'store_unavailable' && code !== 'overloaded') return code;
    if (performance.now() > end) return 'given up';
    await pause(50);
  }
};

type Load = {
  readonly ledger: ReadonlyMap<string, number>;
  readonly ends: ReadonlyMap<string, string>;
  readonly okAt: readonly number[];
};

/** Keyed writes and pending writes at two replicas until `stop`; then waits for all that have begun. */
const startLoad = async (url: string) => {
  const ledger = new Map<string, number>();
  const write = createActor('write', { effects: 'write' }, ({ note }) => {
    ledger.set(String(note), (ledger.get(String(note)) ?? 0) + 1);
    return 'written';
  });
  const replicas = [await startLab([write], { REDIS_URL: url }), await startLab([write], { REDIS_URL: url })];
  const ends = new Map<string, string>();
  const okAt: number[] = [];
  const running = new Set<Promise<void>>();
  const keyed = async (base: string, note: string): Promise<void> => {
    const { post } = createKeyedClient(base);
    const body = { session_id: freshName(), calls: [{ name: 'write', arguments: { note } }] };
    let began = 0;
    const end = await finish(async () => {
      began = performance.now();
      return (await post(body, { key: note })).results[0];
    });
    if (end === 'ok') okAt.push(began);
    ends.set(note, end);
  };
  const pending = async (base: string, note: string): Promise<void> => {
    const { begin, finish: wait } = createPendingClient(base);
    const headers = { 'idempotency-key': note };
    const end = await finish(async () => {
      const begun = await begin({ calls: [{ name: 'write', arguments: { note } }] }, { headers });
      if (begun.state !== 'pending') return begun.results[0];
      let answer = await wait(begun.requestId);
      for (let more = 0; answer.state === 'pending' && more < 10; more += 1) answer = await wait(begun.requestId);
      return answer.results[0];
    });
    ends.set(note, end);
  };
  let on = true;
  const loop = async (): Promise<void> => {
    for (let count = 0; on; count += 1) {
      const base = replicas[count % 2]?.service.url ?? '';
      const one = count % 4 === 3 ? pending : keyed;
      const work = one(base, randomUUID());
      running.add(work);
      work.finally(() => running.delete(work)).catch(() => undefined);
      await pause(25);
    }
  };
  const looping = loop();
  const stop = async (): Promise<Load> => {
    on = false;
    await looping;
    await Promise.all(running);
    return { ledger, ends, okAt };
  };
  return { stop, okAt, replicas };
};

test(
  'a master that is killed under load: nothing is lost, nothing runs twice, and writes are taken soon after the promotion',
  async () => {
    const setup = await start();
    const load = await startLoad(setup.url);
    await expect.poll(() => load.okAt.length, RECOVERY).toBeGreaterThan(40);
    const master = await masterOf(setup);
    const killedAt = performance.now();
    await master.kill();
    const promotedMs = await setup.promoted(master.port);
    const firstAfter = () => load.okAt.find((at) => at > killedAt + 200);
    await expect.poll(firstAfter, { ...RECOVERY, timeout: timeLimit(30_000) }).toBeDefined();
    const againMs = Math.round((firstAfter() ?? Number.NaN) - killedAt);
    await pause(2000);
    const { ledger, ends } = await load.stop();
    expect([...ends.values()].filter((end) => end !== 'ok' && end !== 'outcome_unknown')).toEqual([]);
    expect([...ledger.values()].filter((times) => times > 1)).toEqual([]);
    for (const [note, end] of ends) if (end === 'ok') expect(ledger.get(note)).toBe(1);
    expect(againMs, 'from the kill to the first write').toBeLessThan(promotedMs + timeLimit(3000));
  },
  PATIENCE,
);
