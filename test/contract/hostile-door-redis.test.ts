import { expect, test } from 'vitest';
import { ToolCallsResponse, type ToolResult } from '#src/contract/tool-result.ts';
import { postAs, toKeyEntry } from '#test/auth/access-client.ts';
import { measureOutage, RECOVERY } from '#test/support/counting-service.ts';
import { type OutageService, startOutageService } from '#test/support/outage-service.ts';

// A caller with a key and a rate asks Redis twice: may it come in, and may its call run. Each has a time-out of 50 ms.

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
  const served = async (session?: string): Promise<ToolResult> => {
    const counted: ToolResult[] = [];
    const isCounted = async (): Promise<boolean> => {
      const result = await fail(session);
      if (result.retry?.mode === 'redis') counted.push(result);
      return counted.length > 0;
    };
    await expect.poll(isCounted, RECOVERY).toBe(true);
    const [first] = counted;
    if (first === undefined) throw new Error('No batch was counted in Redis.');
    return first;
  };
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
    // Promised are two time-outs and 1 ms; a busy machine takes longer for anything.
    expect(first).toBeLessThan(1000);
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
