import {
  type Answerer,
  answering,
  createInstantClock,
  failureOf,
  findClosedPort,
  startHttpTarget,
} from '@recourse/test-support/http-target.ts';
import { runTool } from '@recourse/test-support/run-tool.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';
import { createFetchUrl, type FetchUrlOptions } from '#src/fetch-url.ts';

const createTool = (options: Partial<FetchUrlOptions>) => {
  const { tool, close } = createFetchUrl({ privateAddresses: 'allow', ...options });
  onTestFinished(close);
  return tool;
};

/** The first answers, one a request; the last one again and again. */
const inTurn =
  (...answers: readonly Answerer[]): Answerer =>
  (response, request, count) =>
    answers[Math.min(count, answers.length) - 1]?.(response, request, count);

const breakOff: Answerer = (response) => {
  response.writeHead(200, { 'content-length': '100' }).write('ten bytes.', () => response.destroy());
};
const hangUp: Answerer = (response) => {
  response.destroy();
};

test.each([
  [429, answering(429)],
  [502, answering(502)],
  [503, answering(503)],
  [504, answering(504)],
  ['a lost answer', hangUp],
  ['half a body', breakOff],
])('%s is tried again, and the value says how often', async (_, bad) => {
  const clock = createInstantClock();
  const target = await startHttpTarget(inTurn(bad, bad, answering(200, {}, 'at last')));
  expect(await runTool(createTool({ clock }), { url: target.origin })).toMatchObject({
    content: 'at last',
    attempts: 3,
  });
  expect(target.requests).toHaveLength(3);
  expect(clock.pauses).toEqual([125, 250]);
});

test('a busy server whose error page never ends is tried again at once', async () => {
  const drip: Answerer = (response) => void response.writeHead(503).write('and on and on');
  const target = await startHttpTarget(inTurn(drip, answering(200, {}, 'at last')));
  const tool = createTool({ clock: createInstantClock(), limitMs: 900 });
  expect(await runTool(tool, { url: target.origin })).toMatchObject({ content: 'at last' });
});

test('the waits double and lie between half and whole by chance', async () => {
  const clock = createInstantClock(0.5);
  const target = await startHttpTarget(answering(503));
  await failureOf(runTool(createTool({ clock }), { url: target.origin }));
  expect(clock.pauses).toEqual([187.5, 375]);
});

test('a rate limit that lasts longer than the call is told at once, without another try', async () => {
  const clock = createInstantClock();
  const target = await startHttpTarget(answering(429, { 'retry-after': '60' }));
  expect(await failureOf(runTool(createTool({ clock }), { url: target.origin }))).toMatchObject({
    name: 'UpstreamToolError',
    message: 'Rate limit exceeded (429). Try again in 60 seconds or use another source.',
    executed: 'no',
    retryAfterMs: 60_000,
    hint: undefined,
  });
  expect(target.requests).toHaveLength(1);
  expect(clock.pauses).toEqual([]);
});

test('Retry-After is waited for where the call has the time, and the failure says how often it was tried', async () => {
  const clock = createInstantClock();
  const target = await startHttpTarget(answering(429, { 'retry-after': '1' }));
  expect(await failureOf(runTool(createTool({ clock }), { url: target.origin }))).toMatchObject({
    message: 'Rate limit exceeded (429). Try again in 1 second or use another source.',
    executed: 'no',
    retryAfterMs: 1_000,
    hint: 'This was already tried 3 times; wait before calling again.',
  });
  expect(clock.pauses).toEqual([1_000, 1_000]);
});

test('waits count against the time of the call: the second one that would not fit is not begun', async () => {
  const clock = createInstantClock();
  const target = await startHttpTarget(answering(429, { 'retry-after': '6' }));
  expect(await failureOf(runTool(createTool({ clock, limitMs: 10_000 }), { url: target.origin }))).toMatchObject({
    retryAfterMs: 6_000,
    hint: 'This was already tried 2 times; wait before calling again.',
  });
  expect(clock.pauses).toEqual([6_000]);
});

test('Retry-After may be a date', async () => {
  const clock = createInstantClock();
  const target = await startHttpTarget(answering(429, { 'retry-after': 'Sat, 21 Nov 2026 12:02:00 GMT' }));
  expect(await failureOf(runTool(createTool({ clock }), { url: target.origin }))).toMatchObject({
    message: 'Rate limit exceeded (429). Try again in 120 seconds or use another source.',
    retryAfterMs: 120_000,
  });
});

test.each([[{}], [{ 'retry-after': 'soon' }], [{ 'retry-after': '-5' }]])(
  'a rate limit without a usable Retry-After (%o) says to try later',
  async (headers) => {
    const clock = createInstantClock();
    const target = await startHttpTarget(answering(429, headers));
    expect(await failureOf(runTool(createTool({ clock }), { url: target.origin }))).toMatchObject({
      message: 'Rate limit exceeded (429). Try again later or use another source.',
      retryAfterMs: undefined,
    });
    expect(clock.pauses).toEqual([125, 250]);
  },
);

test.each([502, 503, 504])('HTTP %i that stays is an upstream that is not available', async (status) => {
  const target = await startHttpTarget(answering(status, { 'retry-after': '90' }));
  const url = `${target.origin}/busy`;
  expect(await failureOf(runTool(createTool({ clock: createInstantClock() }), { url }))).toMatchObject({
    name: 'UpstreamToolError',
    message: `HTTP ${status}: the server of URL '${url}' is not available. Try again in 90 seconds or use another source.`,
    executed: 'maybe',
    retryAfterMs: 90_000,
  });
});

test('a refused connection is tried three times and certainly did nothing', async () => {
  const clock = createInstantClock();
  const host = `127.0.0.1:${await findClosedPort()}`;
  expect(await failureOf(runTool(createTool({ clock }), { url: `http://${host}/` }))).toMatchObject({
    name: 'UpstreamToolError',
    message: `No connection to '${host}' (ECONNREFUSED). Try again later or use another source.`,
    executed: 'no',
    hint: 'This was already tried 3 times; wait before calling again.',
  });
  expect(clock.pauses).toEqual([125, 250]);
});

test.each([
  ['a connection that breaks before the answer', hangUp],
  ['a body that breaks off', breakOff],
])('%s may have reached the server', async (_, answer) => {
  const target = await startHttpTarget(answer);
  expect(await failureOf(runTool(createTool({ clock: createInstantClock() }), { url: target.origin }))).toMatchObject({
    name: 'UpstreamToolError',
    message: expect.stringMatching(
      /^The connection to '127\.0\.0\.1:\d+' broke before the answer was complete \(\w+\)\. Try again later or use another source\.$/,
    ),
    executed: 'maybe',
  });
  expect(target.requests).toHaveLength(3);
});

const failingLookup = (code: string) => {
  const asked: string[] = [];
  const lookup = (hostname: string): Promise<readonly string[]> => {
    asked.push(hostname);
    return Promise.reject(Object.assign(new Error('look-up'), { code }));
  };
  return { asked, lookup };
};

test('a host that does not exist is told at once', async () => {
  const { asked, lookup } = failingLookup('ENOTFOUND');
  const tool = createTool({ clock: createInstantClock(), lookup });
  expect(await failureOf(runTool(tool, { url: 'http://exmaple.test/' }))).toMatchObject({
    name: 'UpstreamToolError',
    message: "There is no host 'exmaple.test' (ENOTFOUND). Check its spelling or use another source.",
    executed: 'no',
  });
  expect(asked).toEqual(['exmaple.test']);
});

test('a name without addresses is a host that does not exist', async () => {
  const tool = createTool({ lookup: () => Promise.resolve([]) });
  expect(await failureOf(runTool(tool, { url: 'http://mail.test/' }))).toMatchObject({
    message: "There is no host 'mail.test' (ENODATA). Check its spelling or use another source.",
  });
});

test('name servers that fail are asked three times', async () => {
  const { asked, lookup } = failingLookup('ESERVFAIL');
  const tool = createTool({ clock: createInstantClock(), lookup });
  expect(await failureOf(runTool(tool, { url: 'http://name.test/' }))).toMatchObject({
    message:
      "The address of host 'name.test' could not be resolved (ESERVFAIL). Try again later or use another source.",
    executed: 'no',
  });
  expect(asked).toEqual(['name.test', 'name.test', 'name.test']);
});

test('name servers that never answer do not hold the call beyond its limit', async () => {
  const startedAt = performance.now();
  const tool = createTool({ limitMs: 100, lookup: () => new Promise(() => undefined) });
  expect(await failureOf(runTool(tool, { url: 'http://name.test/' }))).toMatchObject({
    message: "URL 'http://name.test/' did not answer within 1 second. Try again later or use another source.",
  });
  // The connection's own limit is 5 s.
  expect(performance.now() - startedAt).toBeLessThan(timeLimit(4_000));
});
