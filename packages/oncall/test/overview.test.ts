import { startService } from '@recourse/test-support/start-service.ts';
import { expect, onTestFinished, test } from 'vitest';
import { Overview } from '#src/contract.ts';

test('the overview counts calls and failures, and says what fails now', async () => {
  const service = await startService();
  onTestFinished(service.stop);
  await service.call([
    { name: 'echo', arguments: { text: 'a' } },
    { name: 'nope', arguments: {} },
  ]);
  const answer = await fetch(`${service.url}/overview`);
  const { figures } = Overview.parse(await answer.json());
  expect(answer.status).toBe(200);
  expect(figures.total).toMatchObject({ calls: 2, failures: 1, p50_ms: expect.any(Number) });
  expect(figures.tools.map(({ tool, calls, failures }) => ({ tool, calls, failures }))).toEqual([
    { tool: '_unknown', calls: 1, failures: 1 },
    { tool: 'echo', calls: 1, failures: 0 },
  ]);
  expect(figures.failures).toMatchObject([
    { tool: '_unknown', code: 'unknown_tool', fault: 'caller', failures: 1, is_now: true },
  ]);
});
