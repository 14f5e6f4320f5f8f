import { servers, startMcpLab, until } from '@recourse/test-support/mcp-servers/mcp-lab.ts';
import { expect, test } from 'vitest';

const MEGABYTE = 1_048_576;

test('an answer of 100 MB ends its own call as too large, the memory stays flat and the connection lives', async () => {
  await using lab = await startMcpLab(servers.scripted());
  expect(await lab.call('lab_echo', { text: 'warm' })).toMatchObject({ success: true });
  const waiting = lab.call('lab_wait', {}, { timeout_ms: 2_000 });
  const before = process.memoryUsage().rss;
  let most = before;
  const watch = setInterval(() => {
    most = Math.max(most, process.memoryUsage().rss);
  }, 5);
  const result = await lab.call('lab_large', { bytes: 100 * MEGABYTE });
  clearInterval(watch);
  expect(result).toMatchObject({
    outcome: 'retry',
    message: expect.stringContaining("Tool 'lab_large' ran but its result is larger than 1048576 bytes. Ask for less."),
    error: { code: 'output_too_large' },
  });
  expect(most - before).toBeLessThan(80 * MEGABYTE);
  expect(await lab.call('lab_echo', { text: 'after' })).toMatchObject({ success: true, value: 'after' });
  expect(lab.upstream.state()).toMatchObject({ status: 'up', reconnects: 0 });
  expect(await waiting).toMatchObject({ error: { code: 'timeout' } });
});

test('of a write nobody says that it succeeded when its answer was too large to read', async () => {
  await using lab = await startMcpLab(servers.scripted());
  expect(await lab.call('lab_large_writing')).toMatchObject({
    outcome: 'retry',
    executed: 'maybe',
    message: expect.stringContaining(
      "The answer of the MCP server 'lab' is far larger than 1048576 bytes and was not read. The call may have taken effect: check first, then ask for less.",
    ),
    error: { code: 'retry_requested' },
  });
});

test('an answer over the size of a result, and below the cap, is the executor’s to refuse', async () => {
  await using lab = await startMcpLab(servers.scripted());
  expect(await lab.call('lab_large', { bytes: 2 * MEGABYTE })).toMatchObject({ error: { code: 'output_too_large' } });
});

test('a message without end ends the connection, and it is made anew', async () => {
  await using lab = await startMcpLab(servers.scripted());
  expect(await lab.call('lab_endless')).toMatchObject({ executed: 'maybe', error: { code: 'upstream_unavailable' } });
  await until(() => expect(lab.upstream.state()).toMatchObject({ status: 'up', reconnects: 1 }));
});
