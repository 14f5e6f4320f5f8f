import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { RECOVERY, startCountingService } from '@recourse/test-support/counting-service.ts';
import { createActor, createKeyedClient, freshName, startLab } from '@recourse/test-support/keyed-client.ts';
import { createPendingClient } from '@recourse/test-support/pending-client.ts';
import {
  holdWrites,
  MASTER_NAME,
  type SentinelSettings,
  type SentinelSetup,
  startRedisSentinels,
} from '@recourse/test-support/redis-sentinel.ts';
import { findFreePort } from '@recourse/test-support/redis-server.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import type { ToolResult } from '#src/contract/tool-result.ts';

const PATIENCE = timeLimit(120_000);

const start = async (settings: SentinelSettings = {}): Promise<SentinelSetup> => {
  const setup = await startRedisSentinels(settings);
  onTestFinished(setup.stop);
  return setup;
};

const masterOf = async ({ servers, masterPort }: SentinelSetup) => {
  const port = await masterPort();
  const server = servers.find((one) => one.port === port)?.server;
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
    const [master, port] = [await masterOf(setup), await setup.masterPort()];
    await holdWrites(master);
    const killedAt = performance.now();
    await master.kill();
    const promotedMs = await setup.promoted(port);
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

const SECRETS = { password: 'p@ss,w/rd%', sentinelPassword: 'sentinel-secret' };

test(
  'passwords, a database, a dead and a silent Sentinel, and a master that is stopped: the service follows, and logs no password',
  async () => {
    const setup = await start({ ...SECRETS, db: 2, replicas: 1 });
    const dead = `127.0.0.1:${await findFreePort()}`;
    const url = setup.url.replace('@127.0.0.1', `@${dead},127.0.0.1`);
    const lab = await startCountingService({ REDIS_URL: url, REDIS_SENTINEL_PASSWORD: SECRETS.sentinelPassword });
    await lab.served('a');
    const [master, port] = [await masterOf(setup), await setup.masterPort()];
    const direct = new Redis(master.port, '127.0.0.1', { password: SECRETS.password, db: 2 });
    expect(await direct.dbsize()).toBeGreaterThan(0);
    direct.disconnect();
    setup.sentinels[2]?.pause();
    master.pause();
    await setup.promoted(port);
    expect(await lab.served('b')).toMatchObject({ retry: { mode: 'redis' } });
    // It is told that it is a replica now, and takes nothing that would be lost.
    master.resume();
    setup.sentinels[2]?.resume();
    expect((await lab.served('b')).retry?.mode).toBe('redis');
    expect(await setup.masterPort()).not.toBe(port);
    const log = JSON.stringify(lab.service.logLines());
    for (const secret of [SECRETS.password, encodeURIComponent(SECRETS.password), SECRETS.sentinelPassword])
      expect(log).not.toContain(secret);
    expect(log).toContain(dead);
  },
  PATIENCE,
);

test(
  'Sentinels that are all silent at the start hold up neither the start nor a request, and are asked until they answer',
  async () => {
    const setup = await start({ replicas: 0 });
    for (const sentinel of setup.sentinels) sentinel.pause();
    const lab = await startCountingService({ REDIS_URL: setup.url });
    const startedAt = performance.now();
    expect(await lab.fail('a')).toMatchObject({ retry: { mode: 'local' } });
    expect(performance.now() - startedAt).toBeLessThan(timeLimit(1000));
    await expect.poll(lab.readiness, RECOVERY).toMatchObject({ status: 200, body: { status: 'degraded' } });
    for (const sentinel of setup.sentinels) sentinel.resume();
    expect(await lab.served('a')).toMatchObject({ retry: { mode: 'redis' } });
    expect(await lab.readiness()).toMatchObject({ status: 200, body: { status: 'ready' } });
  },
  PATIENCE,
);

/** A certificate for 127.0.0.1 that this process trusts while the test runs. */
const makeCertificate = () => {
  const directory = mkdtempSync(join(tmpdir(), 'recourse-tls-'));
  const [cert, key] = [join(directory, 'cert.pem'), join(directory, 'key.pem')];
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  const names = ['-subj', '/CN=recourse-test', '-addext', 'subjectAltName=IP:127.0.0.1'];
  const made = spawnSync('openssl', ['req', '-x509', ...curve, ...names, '-keyout', key, '-out', cert]);
  if (made.status !== 0) throw new Error(String(made.stderr ?? made.error));
  const trusted = getCACertificates();
  const pem = readFileSync(cert, 'utf8');
  setDefaultCACertificates([...trusted, pem]);
  onTestFinished(() => {
    setDefaultCACertificates(trusted);
    rmSync(directory, { recursive: true, force: true });
  });
  return { cert, key, pem };
};

/** A connection to one server, past the Sentinels; gone with the test. */
const connect = ({ port }: { readonly port: number }): Redis => {
  const direct = new Redis(port, '127.0.0.1');
  onTestFinished(() => direct.disconnect());
  return direct;
};

test(
  'rediss+sentinel speaks TLS with Sentinels and servers, and leaves a master that is replaced by hand before that is told',
  async () => {
    const setup = await start({ replicas: 1, tls: makeCertificate() });
    const lab = await startCountingService({ REDIS_URL: setup.url });
    await lab.served('a');
    const [old, port] = [connect(await masterOf(setup)), await setup.masterPort()];
    await setup.sentinels[0]?.direct.call('SENTINEL', 'FAILOVER', MASTER_NAME);
    await setup.promoted(port);
    const promoted = connect(await masterOf(setup));
    const gains = async (): Promise<number> => {
      await lab.fail();
      return (await promoted.dbsize()) - (await old.dbsize());
    };
    await expect.poll(gains, RECOVERY).toBeGreaterThan(0);
    // Sentinels leave it a master for eight more seconds: what it takes meanwhile is lost.
    expect((await old.role())[0]).toBe('master');
  },
  PATIENCE,
);
