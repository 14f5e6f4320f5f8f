import { randomBytes } from 'node:crypto';
import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { answering, failureOf, startHttpTarget, startTcpTarget } from '@recourse/test-support/http-target.ts';
import { runTool } from '@recourse/test-support/run-tool.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';
import { createFetchUrl } from '#src/fetch-url.ts';

// In a file of its own: the peak of memory is the process's, and other tests have peaks too.

const createTool = () => {
  const { tool, close } = createFetchUrl({ privateAddresses: 'allow' });
  onTestFinished(close);
  return tool;
};

const PIECE = Buffer.alloc(10_000_000);
const PIECES = 50;
/** Half a gigabyte of zeros. gzip and zstd may be laid end to end; brotli may not, and comes as one piece. */
const BOMBS = {
  gzip: Buffer.concat(Array.from({ length: PIECES }, () => gzipSync(PIECE))),
  zstd: Buffer.concat(Array.from({ length: PIECES }, () => zstdCompressSync(PIECE))),
  br: brotliCompressSync(PIECE),
};

test.each(['gzip', 'zstd', 'br'] as const)('a %s bomb is cut, and memory does not follow it', async (coding) => {
  const target = await startHttpTarget(
    answering(200, { 'content-encoding': coding, 'content-type': 'text/plain' }, BOMBS[coding]),
  );
  const tool = createTool();
  const peakBefore = process.resourceUsage().maxRSS;
  expect(await runTool(tool, { url: target.origin, max_bytes: 100 })).toMatchObject({
    value: { content: '\0'.repeat(100), truncated: true },
  });
  const grownKilobytes = process.resourceUsage().maxRSS - peakBefore;
  expect(grownKilobytes).toBeLessThan(32_000);
});

test('the beginning of a large compressed page is shown, however little of it was asked for', async () => {
  const page = randomBytes(2_000_000).toString('base64');
  const target = await startHttpTarget(answering(200, { 'content-encoding': 'gzip' }, gzipSync(page)));
  expect(await runTool(createTool(), { url: target.origin, max_bytes: 10 })).toMatchObject({
    value: { content: page.slice(0, 10), truncated: true },
  });
});

test('a compressed body that goes on for ever and unpacks to nothing is cut', async () => {
  const header = Buffer.from('1f8b0800000000000003', 'hex');
  const emptyBlocks = Buffer.alloc(50_000, Buffer.from('000000ffff', 'hex'));
  const target = await startHttpTarget((response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' }).write(header);
    const pour = (): void => {
      while (response.write(emptyBlocks));
    };
    response.on('drain', pour);
    pour();
  });
  expect(await failureOf(runTool(createTool(), { url: target.origin }))).toMatchObject({
    name: 'TerminalToolError',
    message: `'127.0.0.1:${target.port}' sent an answer that cannot be read (compressed data larger than its content). Use another source.`,
  });
  await expect.poll(target.open).toBe(0);
});

test('pages that come a byte at a time take no more memory than others', { timeout: timeLimit(60_000) }, async () => {
  const target = await startTcpTarget((socket) => {
    socket.once('data', () => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n');
      const chunks = Buffer.from('1\r\nx\r\n'.repeat(10_000));
      const pour = (): void => {
        while (!socket.destroyed && socket.write(chunks));
      };
      socket.on('drain', pour);
      pour();
    });
  });
  const tool = createTool();
  const peakBefore = process.resourceUsage().maxRSS;
  const pages = await Promise.all([1, 2, 3, 4].map(() => runTool(tool, { url: target.origin, max_bytes: 500_000 })));
  expect(pages).toMatchObject(pages.map(() => ({ value: { content: 'x'.repeat(500_000), truncated: true } })));
  expect(process.resourceUsage().maxRSS - peakBefore).toBeLessThan(150_000);
});

test('interim responses without end are an answer that cannot be read', async () => {
  const target = await startTcpTarget((socket) => {
    socket.once('data', () => socket.write('HTTP/1.1 102 Processing\r\n\r\n'.repeat(1_000)));
  });
  expect(await failureOf(runTool(createTool(), { url: target.origin }))).toMatchObject({
    name: 'TerminalToolError',
    message: `'127.0.0.1:${target.port}' sent an answer that cannot be read (too many interim (1xx) responses). Use another source.`,
  });
});
