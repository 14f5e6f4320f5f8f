import { LONG_QUERY, LONG_TEXT } from '@recourse/test-support/search-lab.ts';
import { startProcess } from '@recourse/test-support/start-process.ts';
import { callService } from '@recourse/test-support/start-service.ts';
import { createTemporaryWorkspace } from '@recourse/test-support/temporary-workspace.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';

test('started by npm, a service that searches for long ends soon after SIGTERM, and the search is answered', async () => {
  const files = Array.from({ length: 30 }, (_, place) => [`${place}.txt`, LONG_TEXT]);
  await using held = await createTemporaryWorkspace(Object.fromEntries(files));
  const running = await startProcess({
    by: 'npm',
    environment: { WORKSPACE_DIR: held.root, SHUTDOWN_GRACE_MS: '300' },
  });
  const answer = callService(running.url, [{ name: 'search_files', arguments: { query: LONG_QUERY } }]);
  // Answered while the search runs.
  expect(await callService(running.url, [{ name: 'echo', arguments: { text: 'hello' } }])).toMatchObject([
    { success: true },
  ]);
  const stoppedAt = performance.now();
  running.send('SIGTERM', 'service');
  expect(await running.exited).toEqual({ code: 0, signal: null });
  // The search alone would go on for its ten seconds.
  expect(performance.now() - stoppedAt).toBeLessThan(timeLimit(5000));
  expect(await answer).toMatchObject([{ success: false, error: { code: 'cancelled' } }]);
});
