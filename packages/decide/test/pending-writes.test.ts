import { freshName, startLab } from '@recourse/test-support/keyed-client.ts';
import { createPendingClient } from '@recourse/test-support/pending-client.ts';
import { expect, test } from 'vitest';
import { createBank } from './bank.ts';

const PAY = { deadline_ms: 300, calls: [{ name: 'pay', arguments: { amount: 5 } }] };

/** A pending payment whose worker does not know how it ended: `wait` is how many seconds its caller waits for that. */
const startUnknown = async (wait: number) => {
  const bank = createBank({ cut: 'after', unclear: true }, { background: 'optional', maxDurationMs: 400 });
  const { service } = await startLab([bank.pay], { RECONCILE_DELAYS: '50ms' });
  const { begin, finish } = createPendingClient(service.url);
  const headers = { 'idempotency-key': freshName() };
  const { requestId } = await begin(PAY, { wait, headers });
  expect((await finish(requestId)).results[0]).toMatchObject({ outcome: 'unknown', executed: 'maybe' });
  const repeat = async () => (await begin(PAY, { headers })).results[0];
  return { bank, repeat };
};

test.each([
  ['its caller was answered as pending', 0],
  ['its caller has waited for its end', 10],
])(
  'a repeat under its key looks for a pending write by the effect id that its worker has sent, where %s',
  async (_, wait) => {
    const { bank, repeat } = await startUnknown(wait);
    expect(await repeat()).toMatchObject({ outcome: 'unknown', executed: 'maybe' });
    expect(new Set(bank.sought)).toEqual(new Set(bank.effectIds));
    bank.unclear = false;
    await expect.poll(repeat).toMatchObject({ success: true, value: { amount: 5 }, reconciled: { by: 'tool' } });
    expect(new Set(bank.sought)).toEqual(new Set(bank.effectIds));
    expect(bank.payments).toHaveLength(1);
  },
);
