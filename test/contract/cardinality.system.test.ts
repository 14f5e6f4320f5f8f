import { hash } from 'node:crypto';
import { METHODS } from 'node:http';
import { openConnection } from '@recourse/test-support/raw-http.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';
import { defineTool } from '#src/tools/define-tool.ts';

const TIMES = 10_000;
// Every key is compared with every other in constant time: ten thousand of them would test nothing but that.
const TENANTS = 500;
const MAX_SERIES = 5000;
// Not about load: a busy machine must not have batches refused.
const CALM = { LOG_LEVEL: 'silent', MAX_EVENT_LOOP_LAG_MS: '60000' } as const;
// Ten times what is promised: the machine that tests is busy with other things.
const MAX_SCRAPE_MS = 500;

/** What comes before a name, so that it could break the exposition's text. */
const HOSTILE = ['"} 1\n', '\u001b[31m', '{tool="echo"}', '__proto__', 'é', ' ', '\\', '#'];

const readMetrics = async ({ url }: RunningService): Promise<string> => (await fetch(`${url}/metrics`)).text();

const seriesOf = (text: string): readonly string[] =>
  text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));

/** Milliseconds of the median of eleven scrapes, over a real socket. */
const timeScrape = async (service: RunningService): Promise<number> => {
  const times: number[] = [];
  for (let scrape = 0; scrape < 11; scrape += 1) {
    const startedAt = performance.now();
    await readMetrics(service);
    times.push(performance.now() - startedAt);
  }
  return times.sort((one, other) => one - other)[5] ?? Number.NaN;
};

/** Does it for each of so many numbers, sixteen at a time. */
const forEach = async (times: number, act: (time: number) => Promise<unknown>): Promise<void> => {
  let next = 0;
  const work = async (): Promise<void> => {
    for (let time = next++; time < times; time = next++) await act(time);
  };
  await Promise.all(Array.from({ length: 16 }, work));
};

const ask = async (service: RunningService, path: string, init: RequestInit = {}): Promise<number> => {
  const answer = await fetch(`${service.url}${path}`, init);
  await answer.arrayBuffer();
  return answer.status;
};

const keyOf = (tenant: number): string => `a-key-of-tenant-${tenant}-that-nobody-guesses`;

/** Everything that a caller chooses, each time another. */
const sendHostile = (service: RunningService, time: number): Promise<number> =>
  ask(service, '/tool-calls', {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${keyOf(time % TENANTS)}`,
      'x-request-id': `hostile_request_${time}_id`,
      'idempotency-key': `hostile-key-${time}`,
      traceparent: `00-${hash('md5', `${time}`)}-${hash('md5', `${time}`).slice(0, 16)}-01`,
      'user-agent': `hostile/${time}`,
    },
    body: JSON.stringify({
      session_id: `hostile_session_${time}`,
      round_id: `hostile_round_${time}`,
      calls: [
        { id: `hostile_call_${time}`, name: `${HOSTILE[time % HOSTILE.length]}hostile_${time}` },
        { id: time, name: 'echo', arguments: { text: `hostile_text_${time}` } },
      ],
    }),
  });

const report = (what: string, series: number, scrapeMs: number): void => {
  process.stdout.write(`cardinality: ${what}: ${series} series, a scrape takes ${scrapeMs.toFixed(1)} ms\n`);
};

test(
  'ten thousand hostile names, ids, sessions, rounds, keys and tenants leave less than five thousand series',
  async () => {
    const lines = Array.from({ length: TENANTS }, (_, one) => `hostile-tenant-${one}=${hash('sha256', keyOf(one))}`);
    const { root } = makeDirectory({ keys: lines.join('\n') });
    const service = await startService({ ...CALM, API_KEYS_FILE: `${root}/keys` });
    onTestFinished(service.stop);
    const statuses = new Set<number>();
    await forEach(TIMES, async (time) => statuses.add(await sendHostile(service, time)));
    expect([...statuses]).toEqual([200]);

    const text = await readMetrics(service);
    const series = seriesOf(text).length;
    const scrapeMs = await timeScrape(service);
    report('10 000 of everything that a caller chooses', series, scrapeMs);
    expect(text).not.toContain('hostile');
    expect(series).toBeLessThan(MAX_SERIES);
    expect(scrapeMs).toBeLessThan(MAX_SCRAPE_MS);
    expect(
      await service.metric(
        'recourse_tool_calls_total{tool="_unknown",outcome="retry",code="unknown_tool",fault="caller"}',
      ),
    ).toBe(TIMES);
  },
  timeLimit(180_000),
);

test(
  'ten thousand paths, and every method that HTTP knows on every route, leave less than five thousand series',
  async () => {
    const service = await startService(CALM);
    onTestFinished(service.stop);
    const paths = [
      '/hostile',
      '/tools/hostile',
      '/sessions/hostile',
      '/tool-calls/hostile',
      '/console/hostile',
      '/docs/hostile',
    ];
    await forEach(TIMES, (time) => ask(service, `${paths[time % paths.length]}_${time}?hostile=${time}`));
    for (const method of [...METHODS, 'HOSTILE', 'get'])
      for (const path of ROUTES)
        await sendAlone(service, `${method} ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`);

    const text = await readMetrics(service);
    const series = seriesOf(text).length;
    const scrapeMs = await timeScrape(service);
    report('10 000 paths, and every method', series, scrapeMs);
    expect(text).not.toContain('hostile');
    expect(series).toBeLessThan(MAX_SERIES);
    expect(scrapeMs).toBeLessThan(MAX_SCRAPE_MS);
  },
  timeLimit(180_000),
);

const ROUTES = [
  '*',
  '/hostile',
  '/console',
  '/docs',
  '/live',
  '/metrics',
  '/openapi.json',
  '/ready',
  '/sessions/x',
  '/sessions/x/budgets',
  '/sessions/x/budgets/x',
  '/tool-calls',
  '/tool-calls/x',
  '/tools',
  '/tools/x',
] as const;

/** On a connection of its own, until the service ends it: some methods have answers without a body, and some have none. */
const sendAlone = async ({ port }: RunningService, request: string): Promise<void> => {
  using connection = await openConnection(port);
  connection.write(request);
  await connection.ended;
};

const toTools = (count: number) =>
  Array.from({ length: count }, (_, number) =>
    defineTool({
      name: `tool_${number}`,
      description: '',
      effects: 'read',
      input: { type: 'object' },
      run: () => number,
    }),
  );

test(
  'of two hundred tools the histograms name forty, and hostile names add less than a hundred series to theirs',
  async () => {
    const service = await startService(CALM, toTools(200));
    onTestFinished(service.stop);
    await service.call(Array.from({ length: 64 }, (_, number) => ({ name: `tool_${number * 3}` })));
    const before = seriesOf(await readMetrics(service));
    await forEach(TIMES / 50, (time) =>
      service.call(Array.from({ length: 50 }, (_, place) => ({ name: `tool_${time}_${place}_hostile` }))),
    );
    const text = await readMetrics(service);
    report('200 tools and 10 000 hostile names', seriesOf(text).length, await timeScrape(service));
    expect(seriesOf(text).length - before.length).toBeLessThan(100);
    const named = text.match(/(?<=^recourse_tool_call_duration_seconds_count\{tool=")[^"]+/gm) ?? [];
    expect(new Set(named).size).toBe(41);
    expect(named).toContain('_other');
    // Counters name them all: a tool that fails must be found, however many there are.
    const counted = text.match(/(?<=^recourse_tool_calls_total\{tool=")tool_\d+(?=",outcome="success")/gm) ?? [];
    expect(new Set(counted).size).toBe(200);
  },
  timeLimit(60_000),
);
