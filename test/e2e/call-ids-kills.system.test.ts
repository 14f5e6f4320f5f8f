import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { redisForTests } from '@recourse/test-support/redis-server.ts';
import { startProcess } from '@recourse/test-support/start-process.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test, vi } from 'vitest';
import { ToolCallsResponse } from '#src/contract/tool-result.ts';

// How many ids; more of them by hand: RUNS=500.
const RUNS = Number(process.env['RUNS'] ?? 60);
const PATIENCE = { timeout: timeLimit(120_000) + RUNS * 500 };
// The lease of a dead process, and time for a busy machine.
const RECOVERY = { timeout: timeLimit(60_000), interval: 200 };

const IDS = Array.from({ length: RUNS }, (_, n) => `call-${n}`);
// Every third goes on after its request.
const preferOf = (id: string): string => (Number(id.slice(5)) % 3 === 2 ? 'respond-async, wait=0' : '');

/** What an answer says of a call: how it ended, or that it has not, or did not run. */
const send = async (url: string, session: string, id: string): Promise<string> => {
  const answer = await fetch(`${url}/tool-calls`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', prefer: preferOf(id) },
    body: JSON.stringify({
      session_id: session,
      idempotency: 'call_id',
      calls: [{ id, name: 'write_line', arguments: { line: id } }],
    }),
  }).catch(() => null);
  if (answer === null) return 'lost';
  const body: unknown = await answer.json().catch(() => null);
  if (body === null) return 'lost';
  const [result] = answer.status >= 400 ? [] : ToolCallsResponse.parse(body).results;
  if (result === undefined || result.executed === 'no') return 'did not run';
  return `${result.outcome}${result.replayed === true ? ', replayed' : ''}`;
};

const ENDS = new Set(['success', 'success, replayed', 'unknown', 'unknown, replayed']);

/** Sends a call until it is known how it ended. */
const findEnd = (url: string, session: string, id: string): Promise<string> =>
  vi.waitUntil(async () => {
    const end = await send(url, session, id);
    return ENDS.has(end) ? end : false;
  }, RECOVERY);

const findEnds = async (url: string, session: string): Promise<ReadonlyMap<string, string>> =>
  new Map(await Promise.all(IDS.map(async (id): Promise<[string, string]> => [id, await findEnd(url, session, id)])));

const prepare = () => {
  const directory = mkdtempSync(join(tmpdir(), 'recourse-call-ids-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const ledger = join(directory, 'ledger');
  writeFileSync(ledger, '');
  const readLines = () => readFileSync(ledger, 'utf8').split('\n').slice(0, -1);
  const start = (store: Readonly<Record<string, string>>) =>
    startProcess({
      by: 'test/support/ledger-service.ts',
      environment: {
        ...{ LEDGER_FILE: ledger, SESSION_MAX_PENDING: '10000', KEY_MAX_PENDING: '10000', MAX_PENDING: '10000' },
        ...{ MAX_EVENT_LOOP_LAG_MS: '60000', LOG_LEVEL: 'info', ...store },
      },
    });
  return { directory, readLines, start };
};

/** Resolves in the middle of all writes. */
const untilMiddle = (readLines: () => readonly string[]) =>
  vi.waitUntil(() => readLines().length >= RUNS / 4, { timeout: timeLimit(60_000), interval: 1 });

/** Each call had one effect, or none where its end is unknown. `told`: what was answered before the kill or beside it. */
const expectOneEffectEach = (
  lines: readonly string[],
  ends: ReadonlyMap<string, string>,
  told: readonly (readonly [string, string])[],
): void => {
  const seen = new Map<string, number>();
  for (const [id, end] of ends) {
    const effects = lines.filter((line) => line === id).length;
    const outcome = end.replace(', replayed', '');
    expect(['success: 1', 'unknown: 0', 'unknown: 1'], id).toContain(`${outcome}: ${effects}`);
    seen.set(`${outcome}: ${effects}`, (seen.get(`${outcome}: ${effects}`) ?? 0) + 1);
  }
  for (const [id, outcome] of told) if (outcome.startsWith('success')) expect(ends.get(id), id).toMatch(/^success/);
  if (process.env['RUNS'] !== undefined) process.stdout.write(`${JSON.stringify([...seen])}\n`);
  expect([...ends.values()].filter((end) => end.startsWith('success')).length).toBeGreaterThan(RUNS / 4);
};

test(
  'two replicas that get every id at once have one effect each, though one is killed in the middle',
  PATIENCE,
  async () => {
    const redis = await redisForTests();
    onTestFinished(redis.stop);
    const { readLines, start } = prepare();
    const session = `kills-${process.pid}-${Date.now()}`;
    const environment = { REDIS_URL: redis.url };
    const [one, two] = await Promise.all([start(environment), start(environment)]);
    const asked = IDS.flatMap((id) =>
      [one, two].map(async ({ url }): Promise<[string, string]> => [id, await send(url, session, id)]),
    );
    await untilMiddle(readLines);
    one.send('SIGKILL', 'service');
    await one.exited;
    const told = await Promise.all(asked);
    const ends = await findEnds(two.url, session);
    const lines = readLines();
    expectOneEffectEach(lines, ends, told);
    // From now on it is the same answer, also from a new replica.
    const three = await start(environment);
    for (const [id, end] of await findEnds(three.url, session))
      expect(end, id).toBe(`${ends.get(id)?.replace(', replayed', '')}, replayed`);
    expect(readLines()).toEqual(lines);
  },
);

test(
  'on SQLite every id that is sent twice at once has one effect, though the process is killed in the middle',
  PATIENCE,
  async () => {
    const { directory, readLines, start } = prepare();
    const environment = { STORE: `sqlite:${join(directory, 'store.db')}` };
    const one = await start(environment);
    const asked = IDS.flatMap((id) =>
      [1, 2].map(async (): Promise<[string, string]> => [id, await send(one.url, 's', id)]),
    );
    await untilMiddle(readLines);
    one.send('SIGKILL', 'service');
    await one.exited;
    const told = await Promise.all(asked);
    const two = await start(environment);
    const again = IDS.map(async (id): Promise<[string, string]> => [id, await send(two.url, 's', id)]);
    const ends = await findEnds(two.url, 's');
    const lines = readLines();
    expectOneEffectEach(lines, ends, [...told, ...(await Promise.all(again))]);
    await findEnds(two.url, 's');
    expect(readLines()).toEqual(lines);
  },
);
