import { toKeyEntry } from '@recourse/test-support/access-client.ts';
import { type RedisForTests, redisForTests } from '@recourse/test-support/redis-server.ts';
import { startProcess, startWorkerProcess } from '@recourse/test-support/start-process.ts';
import { foldEvents, followEvents, readEvents, type SeenEvent, sendFor } from '@recourse/test-support/stream-lab.ts';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';

const SECRET = 'kx3vQ81nUzT5wEr7';

// Ticks until the file `go` is there: a reader that has seen a tick sees all that comes after it.
const TOOLS = `
  import { existsSync } from 'node:fs';
  import { join } from 'node:path';
  import { setTimeout as pause } from 'node:timers/promises';
  import { defineTool } from 'recourse-server';
  const input = { type: 'object', additionalProperties: true };
  export const build = defineTool({
    name: 'build',
    description: 'Builds.',
    effects: 'read',
    background: 'always',
    input,
    run: async function* ({ place }, { part }) {
      part({ line: 'begins with ${SECRET}' });
      for (let tick = 0; !existsSync(join(place, 'go')); tick += 1) {
        yield { tick };
        await pause(50);
      }
      for (let line = 1; line <= 20; line += 1) yield { line };
      // Shown by a handler that goes on behind its result.
      setTimeout(() => part({ line: 'too late' }), 100).unref();
      return { built: true };
    },
  });
  export const look = defineTool({
    name: 'look',
    description: 'Looks.',
    effects: 'read',
    input,
    run: async (_input, { part }) => {
      part('seen');
      return 'looked';
    },
  });
`;

let redis: RedisForTests;
beforeAll(async () => {
  redis = await redisForTests();
});
afterAll(() => redis.stop());

const KEYS = [toKeyEntry('one', 'a'), toKeyEntry('two', 'b')].join(',');
const as = (key: string) => ({ authorization: `Bearer ${key}` });

const partsOf = (events: readonly SeenEvent[], index = 0): readonly unknown[] =>
  events
    .filter(({ event, data }) => event === 'part' && Object(data).index === index)
    .map(({ data }) => Object(data).value);

const linesOf = (events: readonly SeenEvent[]): readonly unknown[] =>
  partsOf(events).flatMap((part) => Object(part).line ?? []);

const ticksOf = (events: readonly SeenEvent[]): readonly number[] =>
  partsOf(events).flatMap((part) => Object(part).tick ?? []);

const LAST_LINES = Array.from({ length: 20 }, (_, at) => at + 1);

/** Reads a stream on, until `stop` says that it has seen enough. */
const createReader = (response: Response) => {
  const events = followEvents(response, 'ndjson');
  const seen: SeenEvent[] = [];
  const readTo = async (isEnough: (event: SeenEvent) => boolean): Promise<readonly SeenEvent[]> => {
    for (;;) {
      const { done, value } = await events.next();
      if (done === true) return seen;
      seen.push(value);
      if (isEnough(value)) return seen;
    }
  };
  return { readTo, toEnd: () => readTo(() => false) };
};

const isTick = ({ event, data }: SeenEvent): boolean => event === 'part' && Object(data).value.tick !== undefined;

/** A service whose calls run in its own process, or in a worker behind Redis. */
const start = async (store: 'memory' | 'redis') => {
  const tools = makeDirectory();
  tools.write('tools.ts', TOOLS);
  const place = makeDirectory();
  const shared = { TOOLS_DIR: tools.root, API_KEYS: KEYS, MY_SECRET: SECRET };
  const environment = store === 'memory' ? shared : { ...shared, REDIS_URL: redis.url };
  const role: Readonly<Record<string, string>> = store === 'memory' ? {} : { ROLE: 'api' };
  const [service] = await Promise.all([
    startProcess({ by: 'node', environment: { ...environment, ...role } }),
    store === 'memory' ? null : startWorkerProcess({ by: 'node', environment }),
  ]);
  const abort = new AbortController();
  onTestFinished(() => abort.abort());
  const headers = { ...as('a'), prefer: 'respond-async' };
  const build = { id: 'b', name: 'build', arguments: { place: place.root } };
  return {
    go: () => place.write('go', ''),
    begin: async (calls: readonly object[] = [build]): Promise<Response> =>
      sendFor(service.url, { calls }, { format: 'ndjson', headers }, abort.signal),
    build,
    get: (path: string, key = 'a'): Promise<Response> =>
      fetch(`${service.url}/tool-calls/${path}`, {
        headers: { ...as(key), accept: 'application/x-ndjson' },
        signal: abort.signal,
      }),
  };
};

describe.each(['memory', 'redis'] as const)('parts of pending calls, on %s', (store) => {
  test('a stream shows them from the first on, in order, none behind the result; it folds to the body', async () => {
    const { begin, build, go, get } = await start(store);
    const response = await begin([{ id: 'l', name: 'look' }, build]);
    const { readTo, toEnd } = createReader(response);
    await readTo(isTick);
    go();
    const events = await toEnd();
    const shown = partsOf(events, 1).map((part) => Object(part));
    expect(partsOf(events)).toEqual(['seen']);
    expect(shown[0]?.line).toMatch(/^begins with/);
    expect(shown[1]).toEqual({ tick: 0 });
    expect(shown.flatMap(({ line }) => line ?? []).slice(1)).toEqual(LAST_LINES);
    const ticks = shown.flatMap(({ tick }) => tick ?? []);
    expect(ticks).toEqual(ticks.map((_, at) => at));
    expect(events.slice(-2).map(({ event }) => event)).toEqual(['result', 'done']);
    const body = await get(String(response.headers.get('x-request-id')));
    expect(foldEvents(events)).toEqual(await body.json());
  });

  test('who comes later gets a snapshot and what is shown from then on, and another tenant nothing', async () => {
    const { begin, go, get } = await start(store);
    const response = await begin();
    const first = createReader(response);
    await first.readTo(isTick);
    const path = `${response.headers.get('x-request-id')}/events`;
    const stranger = await get(path, 'b');
    expect([stranger.status, await stranger.text()]).toEqual([404, expect.not.stringContaining('tick')]);
    const later = createReader(await get(path));
    await later.readTo(isTick);
    go();
    const [ofFirst, ofLater] = await Promise.all([first.toEnd(), later.toEnd()]);
    expect(ofLater[0]?.event).toBe('snapshot');
    expect(linesOf(ofLater)).toEqual(LAST_LINES);
    expect(linesOf(ofFirst).slice(1)).toEqual(LAST_LINES);
    // The same, without those before it came.
    expect(ticksOf(ofFirst).slice(-ticksOf(ofLater).length)).toEqual(ticksOf(ofLater));
    expect(ofLater.slice(-2).map(({ event }) => event)).toEqual(['result', 'done']);
    // Of an end no part is kept.
    expect(readEvents(await (await get(path)).text(), 'ndjson').map(({ event }) => event)).toEqual([
      'snapshot',
      'done',
    ]);
  });

  test('a secret of the service is in none of them', async () => {
    const { begin, go } = await start(store);
    const { readTo, toEnd } = createReader(await begin());
    await readTo(isTick);
    go();
    const events = await toEnd();
    expect(JSON.stringify(events)).not.toContain(SECRET);
    expect(linesOf(events)[0]).toMatch(/^begins with \S/);
  });
});
