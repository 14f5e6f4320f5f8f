import { expect, onTestFinished, test } from 'vitest';
import { createHeldTool } from '#test/support/pending-client.ts';
import { startService } from '#test/support/start-service.ts';
import { countStartsBefore, SLOTS, TENANTS } from './fairness.ts';

test('a tenant has 1,000 calls queued in this process: the first call of another begins in the next free slot', async () => {
  const hold = createHeldTool('hold', { effects: 'write' });
  const environment = { ...TENANTS, WORKER_CONCURRENCY: String(SLOTS), LOG_LEVEL: 'silent' };
  const service = await startService(environment, [hold.tool]);
  onTestFinished(service.stop);
  const started = () => hold.asked.map(({ of }) => String(of));
  expect(await countStartsBefore({ url: service.url, started, release: hold.release })).toBe(0);
});
