import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startProcess } from '@recourse/test-support/start-process.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test, vi } from 'vitest';
import { ToolCallsResponse } from '#src/contract/tool-result.ts';

// More of them by hand: RUNS=200.
const RUNS = Number(process.env['RUNS'] ?? 3);
const PATIENCE = { timeout: timeLimit(20_000) * RUNS + timeLimit(60_000) };

type Answer = {
  readonly status: number;
  readonly replayed: boolean;
  readonly value: unknown;
  readonly outcome: string;
};

const send = async (url: string, key: string, prefer: string): Promise<Answer> => {
  const answer = await fetch(`${url}/tool-calls`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': key, prefer },
    body: JSON.stringify({ session_id: 's', calls: [{ id: 'a', name: 'write_line', arguments: { line: key } }] }),
  });
  const body: unknown = await answer.json();
  const [result] = answer.status >= 400 ? [] : ToolCallsResponse.parse(body).results;
  const outcome = result?.error?.code ?? result?.outcome ?? 'refused';
  const replayed = answer.headers.get('idempotent-replayed') !== null;
  return { status: answer.status, replayed, value: result?.value, outcome };
};

const WAITING = 'wait=10';
const PENDING = 'respond-async, wait=0';
const preferOf = (key: string): string => (key.startsWith('pending') ? PENDING : WAITING);
// A repeat prefers the other of the two: a key holds whatever its batch is sent with.
const repeatedBy = (key: string): string => (preferOf(key) === PENDING ? WAITING : PENDING);

/** Sends one batch after the other until it is told to end. `told`: what each was answered, if it was. */
const startCaller = (url: string, name: string, told: Map<string, string | null>) => {
  const state = { isOver: false };
  const callOne = async (key: string): Promise<void> => {
    told.set(key, null);
    const answer = await send(url, key, preferOf(key)).catch(() => null);
    if (answer?.status === 200 || answer?.status === 202) told.set(key, answer.outcome);
  };
  const callAll = async (): Promise<void> => {
    for (let at = 0; !state.isOver; at += 1) await callOne(`${name}-${at}`);
  };
  const over = callAll();
  return {
    end: async () => {
      state.isOver = true;
      await over;
    },
  };
};

const countAnswered = (told: ReadonlyMap<string, string | null>): number =>
  [...told.values()].filter((outcome) => outcome !== null).length;

const NAMES = ['direct-a', 'direct-b', 'direct-c', 'pending-a', 'pending-b', 'pending-c'];

test(
  'kill -9 during keyed writes and pending calls on SQLite makes none run twice, and loses none that was answered',
  PATIENCE,
  async () => {
    const directory = mkdtempSync(join(tmpdir(), 'recourse-kills-'));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    const ledger = join(directory, 'ledger');
    writeFileSync(ledger, '');
    const environment = {
      ...{ STORE: `sqlite:${join(directory, 'store.db')}`, LEDGER_FILE: ledger },
      ...{ SESSION_MAX_PENDING: '10000', LOG_LEVEL: 'info' },
    };
    const start = () => startProcess({ by: 'test/support/ledger-service.ts', environment });
    const told = new Map<string, string | null>();
    for (let run = 0; run < RUNS; run += 1) {
      const service = await start();
      const callers = NAMES.map((name) => startCaller(service.url, `${name}-${run}`, told));
      const enough = countAnswered(told) + 10 + Math.floor(Math.random() * 20);
      await vi.waitUntil(() => countAnswered(told) >= enough, { timeout: timeLimit(20_000), interval: 5 });
      service.send('SIGKILL', 'service');
      await service.exited;
      await Promise.all(callers.map(({ end }) => end()));
    }
    const last = await start();
    /** Until the lease of the dead process is over, and what is pending has ended. */
    const findEnd = (key: string): Promise<Answer> =>
      vi.waitUntil(
        async () => {
          const answer = await send(last.url, key, repeatedBy(key));
          return answer.status === 200 && answer.outcome !== 'pending' ? answer : false;
        },
        { timeout: timeLimit(60_000), interval: 250 },
      );
    const ends = new Map<string, number>();
    for (const [key, outcome] of told) {
      const end = await findEnd(key);
      const lines = readFileSync(ledger, 'utf8').split('\n');
      const effects = lines.filter((line) => line === key).length;
      // A write that a kill cut off may have run, and never runs again.
      expect(['success, 1', 'outcome_unknown, 0', 'outcome_unknown, 1'], key).toContain(`${end.outcome}, ${effects}`);
      if (outcome === 'success') expect([end.outcome, end.replayed], key).toEqual(['success', true]);
      const name = `${key.split('-')[0]}, told ${outcome}: ${end.outcome}, ${effects}`;
      ends.set(name, (ends.get(name) ?? 0) + 1);
    }
    if (process.env['RUNS'] !== undefined) process.stdout.write(`${JSON.stringify([...ends])}\n`);
    expect(countAnswered(told)).toBeGreaterThanOrEqual(10 * RUNS);
  },
);
