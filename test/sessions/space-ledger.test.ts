import { expect, test } from 'vitest';
import { createSpaceLedger } from '#src/sessions/space-ledger.ts';

test('of more tenants than one command can name, each is named in its turn, also while all of them go on keeping', () => {
  let time = 0;
  const terms = { room: 1e9, part: 1e6 };
  const ledger = createSpaceLedger({ terms, now: () => time, wake: () => undefined });
  const named = new Set<string>();
  for (let round = 0; round < 4; round += 1) {
    time += 11_000;
    for (let place = 0; place < 5000; place += 1) ledger.reserve('result', `tenant-${place}:${round}`, 100);
    const taken = ledger.take();
    expect(taken).toHaveLength(2000);
    for (const { tenant, words } of taken) if (words !== '') named.add(tenant);
    const ofTenants = taken.map(({ bytes }) => bytes);
    ledger.learn(taken, ofTenants, terms);
  }
  expect(named.size).toBe(5000);
});
