import { postAs, toKeyEntry } from '@recourse/test-support/access-client.ts';
import { measureOutage, RECOVERY, servedBy } from '@recourse/test-support/counting-service.ts';
import { type OutageService, startOutageService } from '@recourse/test-support/outage-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';
import { ToolCallsResponse, type ToolResult } from '#src/contract/tool-result.ts';

// A caller with a key and a rate asks Redis twice: may it come in, and may its call run. Whichever is asked first finds
// out that Redis is away, and the other does not ask.

const KEY = 'key-of-acme-that-nobody-guesses';

type Caller = {
  readonly fail: (session?: string) => Promise<ToolResult>;
  readonly served: (session?: string) => Promise<ToolResult>;
  /** The HTTP statuses of all batches so far, each once. */
  readonly statuses: () => readonly number[];
};

/** As the lab's own `fail` and `served`, with a key, and without a word about what may be answered. */
const createCaller = ({ service }: OutageService): Caller => {
  const statuses = new Set<number>();
  let attempt = 0;
  const fail = async (session?: string): Promise<ToolResult> => {
    attempt += 1;
    const calls = [{ name: 'failing', arguments: { attempt } }];
    const { status, text } = await postAs(service, KEY, { session_id: session ?? `own ${attempt}`, calls });
    statuses.add(status);
    const [result] = ToolCallsResponse.parse(JSON.parse(text)).results;
    if (result === undefined) throw new Error('There is no result.');
    return result;
  };
  const served = (session?: string): Promise<ToolResult> => servedBy(() => fail(session));
  return { fail, served, statuses: () => [...statuses] };
};

type Act = (lab: OutageService) => Promise<unknown>;
type Silence = readonly [name: string, begin: Act, end: Act];

const SILENCES: readonly Silence[] = [
  ['stopped (SIGSTOP)', async ({ server }) => server.pause(), async ({ server }) => server.resume()],
  // It comes back by itself.
  ['paused (CLIENT PAUSE)', ({ direct }) => direct.client('PAUSE', 3000, 'ALL'), async () => undefined],
];

test.each(SILENCES)(
  '%s: of callers with keys, rates and sessions one batch waits, and none is refused',
  async (name, begin, end) => {
    const lab = await startOutageService({ environment: { API_KEYS: toKeyEntry('acme', KEY, 'rate=100000/h') } });
    const caller = createCaller(lab);
    const breakIt = async (): Promise<void> => {
      // On a busy machine Redis may have been too slow meanwhile: an outage begins where it serves.
      await caller.served();
      await begin(lab);
    };
    const { first, later } = await measureOutage(caller, breakIt);
    process.stdout.write(
      `door: ${name}: ${first.toFixed(1)} ms for the first, ${later.toFixed(2)} ms for later batches\n`,
    );
    // Promised are 60 ms and 1 ms; a busy machine takes longer for anything.
    expect(first).toBeLessThan(timeLimit(600));
    expect(later).toBeLessThan(25);
    expect(await lab.service.metric('recourse_rate_limit_errors_total')).toBeGreaterThan(0);
    await end(lab);
    await caller.served();
    expect(caller.statuses()).toEqual([200]);
    expect(await lab.service.metric('recourse_rate_limited_total')).toBe(0);
    expect(await lab.service.metric('recourse_contract_violations_total')).toBe(0);
  },
  60_000,
);

test('a rate holds while Redis is silent, and who is over it is told so at once', async () => {
  const lab = await startOutageService({ environment: { API_KEYS: toKeyEntry('acme', KEY, 'rate=5/h') } });
  lab.server.pause();
  const batch = { calls: [{ name: 'failing', arguments: { attempt: 1 } }], session_id: 's' };
  const statuses: number[] = [];
  for (let request = 0; request < 12; request += 1) statuses.push((await postAs(lab.service, KEY, batch)).status);
  expect(statuses).toEqual([200, 200, 200, 200, 200, 429, 429, 429, 429, 429, 429, 429]);
});

const STORE_UP = 'recourse_session_store_up';

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

test('the first batch of an outage waits for two time-outs, those of its rate and its session', async () => {
  const lab = await startOutageService({ environment: { API_KEYS: toKeyEntry('acme', KEY, 'rate=100000/h') } });
  const caller = createCaller(lab);
  const timeouts = async (): Promise<number> => (await lab.errors())['timeout'] ?? 0;
  const waits: number[] = [];
  for (let outage = 0; outage < 7; outage += 1) {
    await caller.served();
    const before = await timeouts();
    lab.server.pause();
    const startedAt = performance.now();
    const result = await caller.fail();
    waits.push(performance.now() - startedAt);
    expect(result.retry?.mode).toBe('local');
    expect(await timeouts()).toBe(before + 2);
    expect(await lab.service.metric(STORE_UP)).toBe(0);
    lab.server.resume();
  }
  process.stdout.write(`door: the first batch of 7 outages took ${median(waits).toFixed(1)} ms in the median\n`);
  // Promised are 110 ms; a busy machine takes longer for anything.
  expect(median(waits)).toBeLessThan(timeLimit(600));
});

const CALL = { calls: [{ name: 'echo', arguments: { text: 'x' } }] };

test('requests with a rate and without a session find out that Redis is silent, and that it is back', async () => {
  const lab = await startOutageService({ environment: { API_KEYS: toKeyEntry('acme', KEY, 'rate=100000/h') } });
  await createCaller(lab).served();
  const upAfterOne = async () => {
    expect((await postAs(lab.service, KEY, CALL)).status).toBe(200);
    return lab.service.metric(STORE_UP);
  };
  lab.server.pause();
  expect([await upAfterOne(), await upAfterOne()]).toEqual([1, 0]);
  // Soon enough for the connection to be kept: nobody else will say it.
  lab.server.resume();
  await expect.poll(upAfterOne, RECOVERY).toBe(1);
  expect(await lab.readiness()).toMatchObject({ body: { status: 'ready' } });
});

test('no right to the keys of rates: counted here, and sessions are in Redis as ever', async () => {
  const rights = ['on', '>secret', '~recourse2:{*', '&*', '+@all'];
  const lab = await startOutageService({
    environment: { API_KEYS: toKeyEntry('acme', KEY, 'rate=100000/h') },
    credentials: 'recourse:secret@',
    before: async ({ direct }) => void (await direct.acl('SETUSER', 'recourse', ...rights)),
  });
  const caller = createCaller(lab);
  await caller.served();
  // In a row: on a busy machine one of them may be too late for Redis. A refusal would take it away for a second.
  const twenty = async (): Promise<readonly unknown[]> => {
    const modes: unknown[] = [];
    for (let batch = 0; batch < 20; batch += 1) modes.push((await caller.fail()).retry?.mode);
    return [...modes, await lab.service.metric(STORE_UP)];
  };
  await expect.poll(twenty, RECOVERY).toEqual([...Array(20).fill('redis'), 1]);
  expect(await lab.service.metric('recourse_rate_limit_errors_total')).toBeGreaterThanOrEqual(20);
  // Of rates alone: each second one of them asks in vain.
  // A busy machine may be late as well.
  expect(Object.keys(await lab.errors()).filter((reason) => reason !== 'timeout')).toEqual(['noperm']);
});
