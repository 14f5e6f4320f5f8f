import { createHeldTool } from '@recourse/test-support/pending-client.ts';
import { startService } from '@recourse/test-support/start-service.ts';
import { expect, onTestFinished, test } from 'vitest';
import { SLOTS, startBesideMany, TENANTS } from './fairness.ts';

test('a tenant has 1,000 calls queued in this process, and those that run do not end: the first call of another begins at once', async () => {
  const hold = createHeldTool('hold', { effects: 'write' });
  const environment = { ...TENANTS, WORKER_CONCURRENCY: String(SLOTS), LOG_LEVEL: 'silent' };
  const service = await startService(environment, [hold.tool]);
  onTestFinished(service.stop);
  const started = () => hold.asked.map(({ of }) => String(of));
  expect(await startBesideMany({ url: service.url, started })).toEqual(['a', 'a', 'a', 'b']);
  hold.release();
});
