import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { answering, failureOf, startHttpTarget, startTcpTarget } from '@recourse/test-support/http-target.ts';
import { runTool } from '@recourse/test-support/run-tool.ts';
import { empty } from 'recourse-server/internal/tools/tool-values.ts';
import { expect, onTestFinished, test } from 'vitest';
import { createFetchUrl, type FetchUrlOptions } from '#src/fetch-url.ts';

const createTool = (options: Partial<FetchUrlOptions> = {}) => {
  const { tool, close } = createFetchUrl({ privateAddresses: 'allow', ...options });
  onTestFinished(close);
  return tool;
};

test('fetch_url returns the text of a page and where it came from', async () => {
  const target = await startHttpTarget(answering(200, { 'content-type': 'text/plain; charset=utf-8' }, 'Grüße'));
  const url = `${target.origin}/page?q=1#part`;
  expect(await runTool(createTool(), { url })).toEqual({
    url,
    status: 200,
    content_type: 'text/plain; charset=utf-8',
    content: 'Grüße',
    truncated: false,
    attempts: 1,
  });
  expect(target.requests).toHaveLength(1);
  expect(target.requests[0]).toEqual({
    method: 'GET',
    path: '/page?q=1',
    headers: {
      host: `127.0.0.1:${target.port}`,
      connection: 'keep-alive',
      'user-agent': 'recourse-fetch-url',
      accept: 'text/*, application/json, application/xml;q=0.9, */*;q=0.5',
      'accept-encoding': 'gzip, br, zstd',
    },
  });
});

test('the result fits the output schema that the tool declares', async () => {
  const target = await startHttpTarget(answering(200, {}, 'x'));
  const tool = createTool();
  const value = await runTool(tool, { url: target.origin });
  expect(await tool.checkOutput?.(value)).toEqual([]);
});

test('fetch_url describes itself as a read tool whose own limit lies under its time limit', async () => {
  const { name, effects, timeoutMs, retries } = createTool();
  expect({ name, effects, timeoutMs, retries }).toEqual({
    name: 'fetch_url',
    effects: 'read',
    timeoutMs: 30_000,
    retries: 3,
  });
});

test.each([0, 1.5, 500_001])('max_bytes %d is refused', async (bytes) => {
  const running = runTool(createTool(), { url: 'http://127.0.0.1:1/', max_bytes: bytes });
  expect(await failureOf(running)).toMatchObject({ message: expect.stringMatching(/^max_bytes: /) });
});

test('an answer without content is an empty success', async () => {
  const target = await startHttpTarget(answering(204));
  expect(await runTool(createTool(), { url: `${target.origin}/none` })).toEqual(
    empty(`URL '${target.origin}/none' answered without content.`, {
      url: `${target.origin}/none`,
      status: 204,
      content_type: null,
      content: '',
      truncated: false,
      attempts: 1,
    }),
  );
});

test('binary content is refused with its type and without its bytes', async () => {
  const target = await startHttpTarget(answering(200, { 'content-type': 'application/pdf' }, '%PDF-1.7'));
  expect(await failureOf(runTool(createTool(), { url: `${target.origin}/a.pdf` }))).toMatchObject({
    name: 'RetryableToolError',
    message: `URL '${target.origin}/a.pdf' is application/pdf, not text. Use a URL that answers with text, such as an HTML page.`,
    value: { url: `${target.origin}/a.pdf`, status: 200, content_type: 'application/pdf', attempts: 1 },
  });
});

test.each([
  ['gzip', gzipSync('packed')],
  ['x-gzip', gzipSync('packed')],
  ['deflate', deflateSync('packed')],
  ['br', brotliCompressSync('packed')],
  ['zstd', zstdCompressSync('packed')],
  ['identity', Buffer.from('packed')],
  ['GZIP', gzipSync('packed')],
])('a body in content coding %s is unpacked', async (coding, body) => {
  const target = await startHttpTarget(answering(200, { 'content-encoding': coding }, body));
  expect(await runTool(createTool(), { url: target.origin })).toMatchObject({ content: 'packed' });
});

test.each([
  ['never answers', () => undefined],
  ['sends headers and no content', (response: { flushHeaders: () => void }) => response.flushHeaders()],
])('a server that %s is told as slow before the tool is cut off', async (_, answer) => {
  const target = await startHttpTarget(answer);
  expect(await failureOf(runTool(createTool({ limitMs: 200 }), { url: `${target.origin}/slow` }))).toMatchObject({
    name: 'UpstreamToolError',
    message: `URL '${target.origin}/slow' did not answer within 1 second. Try again later or use another source.`,
    executed: 'maybe',
  });
  expect(target.requests).toHaveLength(1);
});

test('when the call is aborted the handler ends with the reason of the abort', async () => {
  const controller = new AbortController();
  const reason = new Error('the client went away');
  const target = await startHttpTarget(() => controller.abort(reason));
  expect(await failureOf(runTool(createTool(), { url: target.origin }, controller.signal))).toBe(reason);
  await expect.poll(target.open).toBe(0);
});

test('a call whose signal is aborted already sends nothing', async () => {
  const target = await startHttpTarget(answering(200, {}, 'x'));
  const reason = new Error('too late');
  expect(await failureOf(runTool(createTool(), { url: target.origin }, AbortSignal.abort(reason)))).toBe(reason);
  expect(target.requests).toEqual([]);
});

test.each([
  [400, 'RetryableToolError', "HTTP 400: the server does not understand URL '%'. Correct its path or query."],
  [
    401,
    'TerminalToolError',
    "HTTP 401: URL '%' needs a login, and none is sent. Use a source that is open to everyone.",
  ],
  [402, 'TerminalToolError', "HTTP 402: URL '%' requires payment. Use another source."],
  [403, 'TerminalToolError', "HTTP 403: access to URL '%' is forbidden. Use another source."],
  [404, 'RetryableToolError', "HTTP 404: URL '%' not found. Try a different URL."],
  [405, 'TerminalToolError', "HTTP 405: URL '%' does not answer GET requests. Use another source."],
  [410, 'RetryableToolError', "HTTP 410: URL '%' no longer exists. Try a different URL."],
  [414, 'RetryableToolError', "HTTP 414: URL '%' is too long for the server. Send a shorter one."],
  [418, 'RetryableToolError', "HTTP 418: URL '%' did not answer with content. Try a different URL."],
  [422, 'RetryableToolError', "HTTP 422: the server cannot process URL '%'. Correct its path or query."],
  [451, 'TerminalToolError', "HTTP 451: URL '%' is withheld for legal reasons. Use another source."],
  [304, 'RetryableToolError', "HTTP 304: URL '%' did not answer with content. Try a different URL."],
  [500, 'TerminalToolError', "HTTP 500: the server failed on URL '%'. Use another source."],
  [501, 'TerminalToolError', "HTTP 501: the server failed on URL '%'. Use another source."],
  [522, 'TerminalToolError', "HTTP 522: the server failed on URL '%'. Use another source."],
])('HTTP %i is asked once and is a %s that names the way out', async (status, name, message) => {
  const target = await startHttpTarget(answering(status));
  const url = `${target.origin}/thing`;
  expect(await failureOf(runTool(createTool(), { url }))).toMatchObject({
    name,
    message: message.replace('%', url),
  });
  expect(target.requests).toHaveLength(1);
});

test("a refusal carries the beginning of the server's own words", async () => {
  const body = JSON.stringify({ error: "unknown parameter 'pag'", padding: 'x'.repeat(5_000) });
  const target = await startHttpTarget(answering(400, { 'content-type': 'application/json' }, body));
  expect(await failureOf(runTool(createTool(), { url: `${target.origin}/?pag=2` }))).toMatchObject({
    value: {
      url: `${target.origin}/?pag=2`,
      status: 400,
      content_type: 'application/json',
      content: body.slice(0, 2_000),
      attempts: 1,
    },
  });
});

test('a long URL is cut at 200 characters where a message repeats it', async () => {
  const target = await startHttpTarget(answering(404));
  const url = `${target.origin}/${'a'.repeat(500)}`;
  expect(await failureOf(runTool(createTool(), { url }))).toMatchObject({
    message: `HTTP 404: URL '${url.slice(0, 199)}…' not found. Try a different URL.`,
  });
});

test('a server that does not speak HTTP is not asked again', async () => {
  const target = await startTcpTarget((socket) => socket.end('220 mail.example ESMTP\r\n'));
  expect(await failureOf(runTool(createTool(), { url: target.origin }))).toMatchObject({
    name: 'TerminalToolError',
    message: `'127.0.0.1:${target.port}' sent an answer that cannot be read (HTTPParserError). Use another source.`,
  });
  expect(target.connections()).toBe(1);
});

test('a plain server behind an https URL is a failure of the secure connection', async () => {
  const target = await startHttpTarget(answering(200));
  expect(await failureOf(runTool(createTool(), { url: `https://127.0.0.1:${target.port}/` }))).toMatchObject({
    name: 'TerminalToolError',
    message: `No secure connection to '127.0.0.1:${target.port}' (ERR_SSL_WRONG_VERSION_NUMBER). Use another source.`,
  });
});
