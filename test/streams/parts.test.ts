import { setTimeout as wait } from 'node:timers/promises';
import { type SeenEvent, startStreams, streamBatch } from '@recourse/test-support/stream-lab.ts';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { defineTool } from '#src/tools/define-tool.ts';
import type { Tool } from '#src/tools/tool.ts';

const ended: string[] = [];
const any = { type: 'object', additionalProperties: true } as const;

const generator = (name: string, run: () => AsyncGenerator<unknown, unknown>, more: object = {}): Tool =>
  defineTool({ name, description: '', effects: 'read', input: any, run, ...more });

const TOOLS = [
  generator('returns', async function* () {
    yield 1;
    yield { two: 2 };
    return { three: 3 };
  }),
  generator('returns_nothing', async function* () {
    yield 'only this';
  }),
  generator('throws_late', async function* () {
    yield 1;
    throw new Error('after all');
  }),
  generator('is_cut_off', endless, { timeoutMs: 50 }),
  generator('never_waits', neverWaits, { timeoutMs: 50 }),
  defineTool({
    name: 'later',
    description: '',
    effects: 'read',
    input: any,
    output: z.object({ three: z.number() }),
    setup: () => ({ three: 3 }),
    run: async (_input, { resource }) => {
      await wait(1);
      return (async function* () {
        yield 'resource';
        return resource;
      })();
    },
  }),
  defineTool({
    name: 'shows_too_much',
    description: '',
    effects: 'read',
    input: any,
    run: (_input, { part }) => {
      part(10n);
      part(() => 1);
      part('x'.repeat(262_200));
      for (let at = 0; at < 1100; at += 1) part(at);
      return 'shown';
    },
  }),
  defineTool({
    name: 'shows_megabytes',
    description: '',
    effects: 'read',
    input: any,
    run: async function* () {
      for (let at = 0; at < 20; at += 1) {
        yield 'x'.repeat(262_000);
        await wait(20);
      }
    },
  }),
  defineTool({
    name: 'tells_secrets',
    description: '',
    effects: 'read',
    input: any,
    run: (_input, { part, progress }) => {
      part({ kx3vQ81nUzT5wEr7: ['it is kx3vQ81nUzT5wEr7'] });
      progress({ progress: 1, message: 'it is kx3vQ81nUzT5wEr7' });
    },
  }),
  defineTool({
    name: 'shows_late',
    description: '',
    effects: 'read',
    input: any,
    timeoutMs: 20,
    run: async (_input, { part }) => {
      await wait(60);
      part('too late');
    },
  }),
];

async function* endless(): AsyncGenerator<number, string> {
  try {
    for (let at = 0; ; at += 1) {
      yield at;
      await wait(5);
    }
  } finally {
    ended.push('is_cut_off');
  }
}

async function* neverWaits(): AsyncGenerator<number, string> {
  try {
    for (;;) yield 0;
  } finally {
    ended.push('never_waits');
  }
}

const HOSTED = `
  import { defineTool } from 'recourse-server';
  const tool = (name, run, more = {}) =>
    defineTool({ name, description: '', effects: 'read', input: { type: 'object' }, run, ...more });
  export const tools = [
    tool('hosted', async function* (_input, { part }) {
      part({ shown: true });
      yield 'yielded';
      return 'value';
    }),
    tool('hosted_endless', async function* () {
      for (let at = 0; ; at += 1) { yield at; await new Promise((resolve) => setTimeout(resolve, 5)); }
    }, { timeoutMs: 300 }),
    tool('hosted_throws', async function* () { yield 1; throw new Error('after all'); }),
    tool('hosted_talks', (_input, { part }) => { for (let at = 0; at < 1500; at += 1) part('y'.repeat(3000)); }),
  ];
`;

const partsOf = (events: readonly SeenEvent[]): readonly unknown[] =>
  events.filter(({ event }) => event === 'part').map(({ data }) => Object(data).value);

const resultOf = (events: readonly SeenEvent[]) => Object(events.find(({ event }) => event === 'result')?.data);

const start = () => {
  const { root } = makeDirectory({ 'hosted.ts': HOSTED });
  return startStreams(TOOLS, { TOOLS_DIR: root, MY_SECRET: 'kx3vQ81nUzT5wEr7' });
};

test('what a generator yields are parts, and what it returns is its value', async () => {
  const service = await start();
  const run = async (name: string) => {
    const { events } = await streamBatch(service.url, { calls: [{ name }] }, { format: 'sse' });
    const { value, error } = resultOf(events);
    return [partsOf(events), value, error === null ? null : [error.code, error.type]];
  };
  expect(await run('returns')).toEqual([[1, { two: 2 }], { three: 3 }, null]);
  expect(await run('returns_nothing')).toEqual([['only this'], null, null]);
  expect(await run('throws_late')).toEqual([[1], null, ['tool_exception', 'Error']]);
  expect(await run('later')).toEqual([['resource'], { three: 3 }, null]);
  expect(await run('hosted')).toEqual([[{ shown: true }, 'yielded'], 'value', null]);
  expect(await run('hosted_throws')).toEqual([[1], null, ['tool_exception', 'Error']]);
});

test('without a stream a generator runs to its end, and nothing of its parts is in the answer', async () => {
  const service = await start();
  const results = await service.call(
    ['returns', 'returns_nothing', 'later', 'hosted'].map((name) => ({ id: name, name })),
  );
  expect(results.map(({ value }) => value)).toEqual([{ three: 3 }, null, { three: 3 }, 'value']);
});

test.each(['is_cut_off', 'never_waits'])(
  'a generator is ended at its time limit, where its finally runs (%s)',
  async (name) => {
    ended.length = 0;
    const service = await start();
    const [result] = await service.call([{ name }]);
    expect(result?.error?.code).toBe('timeout');
    await expect.poll(() => ended, { timeout: timeLimit(10_000) }).toEqual([name]);
    // The slot of the tool is free again.
    await expect
      .poll(() => service.metric('recourse_calls_in_flight{pool="inline"}'), { timeout: timeLimit(10_000) })
      .toBe(0);
  },
);

test('so is one in a tool host', async () => {
  const service = await start();
  const { events } = await streamBatch(service.url, { calls: [{ name: 'hosted_endless' }] }, { format: 'ndjson' });
  expect(partsOf(events).slice(0, 2)).toEqual([0, 1]);
  expect(resultOf(events).error.code).toBe('timeout');
});

test('a call shows a thousand parts, none that is no JSON or too large, and its log says so once', async () => {
  const service = await start();
  const { events } = await streamBatch(service.url, { calls: [{ name: 'shows_too_much' }] }, { format: 'ndjson' });
  expect(partsOf(events)).toEqual(Array.from({ length: 1000 }, (_, at) => at));
  expect(resultOf(events).value).toBe('shown');
  expect(service.logLines().filter(({ msg }) => msg === 'parts of a call are dropped')).toHaveLength(1);
});

test('a call shows four megabytes', async () => {
  const service = await start();
  const { events } = await streamBatch(service.url, { calls: [{ name: 'shows_megabytes' }] }, { format: 'ndjson' });
  expect(partsOf(events)).toHaveLength(16);
});

test('a hosted call that shows more than it may is not taken for a flood', async () => {
  const service = await start();
  const { events } = await streamBatch(service.url, { calls: [{ name: 'hosted_talks' }] }, { format: 'ndjson' });
  const parts = partsOf(events).length;
  expect(parts).toBeGreaterThan(0);
  expect(parts + ((await service.metric('recourse_stream_events_dropped_total{event="part"}')) ?? 0)).toBe(1000);
  expect(resultOf(events).success).toBe(true);
});

test('a secret of the service is in no part and in no progress', async () => {
  const service = await start();
  const { text, events } = await streamBatch(service.url, { calls: [{ name: 'tells_secrets' }] }, { format: 'sse' });
  expect(text).not.toContain('kx3vQ81nUzT5wEr7');
  expect(partsOf(events)).toHaveLength(1);
  expect(events.filter(({ event }) => event === 'progress')).toHaveLength(1);
});

test('what a handler shows after its call was answered is not sent', async () => {
  const service = await start();
  const calls = [{ name: 'shows_late' }, { name: 'is_cut_off' }];
  const { events } = await streamBatch(service.url, { calls, order: 'sequential' }, { format: 'sse' });
  expect(partsOf(events)).not.toContain('too late');
});
