import { gzipSync } from 'node:zlib';
import { answering, failureOf, startHttpTarget } from '@recourse/test-support/http-target.ts';
import { runTool } from '@recourse/test-support/run-tool.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { ok } from 'recourse-server/internal/tools/tool-values.ts';
import { expect, onTestFinished, test } from 'vitest';
import { createFetchUrl, type FetchUrlOptions } from '#src/fetch-url.ts';

const createTool = (options: Partial<FetchUrlOptions> = {}) => {
  const { tool, close } = createFetchUrl({ privateAddresses: 'allow', ...options });
  onTestFinished(close);
  return tool;
};

test.each([
  ['gzip', Buffer.from('not gzip at all'), 'broken compressed data'],
  ['gzip', gzipSync('x'.repeat(5_000)).subarray(0, 20), 'broken compressed data'],
  ['br', Buffer.from('\xff\xff\xffnot brotli', 'latin1'), 'broken compressed data'],
  ['zstd', Buffer.from('not zstd at all'), 'broken compressed data'],
  ['snappy', Buffer.from('x'), 'content coding snappy'],
  ['gzip, gzip', Buffer.from('x'), 'content coding gzip, gzip'],
])('a body in content coding %s that cannot be unpacked is a failure that says so', async (coding, body, why) => {
  const target = await startHttpTarget(answering(200, { 'content-encoding': coding }, body));
  expect(await failureOf(runTool(createTool(), { url: target.origin }))).toMatchObject({
    name: 'TerminalToolError',
    message: `'127.0.0.1:${target.port}' sent an answer that cannot be read (${why}). Use another source.`,
  });
});

/** A zstd frame that holds one raw `x` and asks its decoder for a window of 2 to the power of `log` bytes (RFC 8878). */
const zstdFrame = (log: number): Buffer => Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, (log - 10) << 3, 9, 0, 0, 0x78]);

test('zstd may take a window of 8 MB and no more', async () => {
  const target = await startHttpTarget((response, request, count) =>
    answering(200, { 'content-encoding': 'zstd' }, zstdFrame(request.path === '/8' ? 23 : 24))(
      response,
      request,
      count,
    ),
  );
  expect(await runTool(createTool(), { url: `${target.origin}/8` })).toMatchObject({ content: 'x' });
  expect(await failureOf(runTool(createTool(), { url: `${target.origin}/16` }))).toMatchObject({
    name: 'TerminalToolError',
  });
});

test('a body that will not be unpacked is not read to its end', async () => {
  const target = await startHttpTarget((response) => {
    response.writeHead(200, { 'content-encoding': 'snappy' }).write('on and on');
  });
  await failureOf(runTool(createTool(), { url: target.origin }));
  await expect.poll(target.open).toBe(0);
});

test('content over max_bytes is cut, and the model is told how to get more', async () => {
  const target = await startHttpTarget(answering(200, {}, 'abcdefghij'));
  expect(await runTool(createTool(), { url: `${target.origin}/`, max_bytes: 4 })).toEqual(
    ok(
      {
        url: `${target.origin}/`,
        status: 200,
        content_type: null,
        content: 'abcd',
        truncated: true,
        attempts: 1,
      },
      'Only the first 4 bytes are shown. For more, call again with a larger max_bytes (at most 500000).',
    ),
  );
});

test('content of exactly max_bytes is whole', async () => {
  const target = await startHttpTarget(answering(200, {}, 'abcd'));
  expect(await runTool(createTool(), { url: target.origin, max_bytes: 4 })).toMatchObject({
    content: 'abcd',
    truncated: false,
  });
});

test('a character that the cut left in half is dropped', async () => {
  const target = await startHttpTarget(answering(200, {}, 'aé€'));
  expect(await runTool(createTool(), { url: target.origin, max_bytes: 4 })).toMatchObject({
    value: { content: 'aé', truncated: true },
  });
});

test('an endless body is cut by size and its connection closed', async () => {
  const target = await startHttpTarget((response) => {
    const pour = (): void => {
      while (response.write('x'.repeat(65_536)));
    };
    response.on('drain', pour);
    pour();
  });
  const page = await runTool(createTool(), { url: target.origin });
  expect(page).toMatchObject({ value: { truncated: true, content: 'x'.repeat(65_536) } });
  await expect.poll(target.open).toBe(0);
});

test('a dripping body is cut by time, with what has arrived', async () => {
  const target = await startHttpTarget((response) => {
    response.writeHead(200, { 'content-type': 'text/plain' }).write('first words');
  });
  expect(await runTool(createTool({ limitMs: 200 }), { url: target.origin })).toEqual(
    ok(
      {
        url: `${target.origin}/`,
        status: 200,
        content_type: 'text/plain',
        content: 'first words',
        truncated: true,
        attempts: 1,
      },
      'The server was too slow: only the part that arrived in time is shown.',
    ),
  );
  await expect.poll(target.open).toBe(0);
});

test('a dripping body neither hides nor much delays that the page was not found', {
  timeout: timeLimit(10_000),
}, async () => {
  const target = await startHttpTarget((response) => {
    response.writeHead(404, { 'content-type': 'text/plain' }).write('no such');
  });
  expect(await failureOf(runTool(createTool(), { url: `${target.origin}/x` }))).toMatchObject({
    message: `HTTP 404: URL '${target.origin}/x' not found. Try a different URL.`,
    value: { content: 'no such' },
  });
});
