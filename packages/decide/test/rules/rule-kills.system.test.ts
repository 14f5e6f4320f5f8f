import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { describe, expect, test } from 'vitest';
import { beginPayment, decideHeld, startLab, whenSettled } from '../bank-lab.ts';
import { endsOf } from './rules-lab.ts';

const TWO = { name: 'two', tools: 'pay', sum: 1, max: 2, per: 'tenant', window: '1h' };

describe.each(['sqlite', 'redis'] as const)('%s', (store) => {
  test('what a process that is killed had reserved is kept, and settled by whoever finds out', {
    timeout: timeLimit(60_000),
  }, async () => {
    const { bank, start } = await startLab(store);
    const { root } = makeDirectory({ 'two.json': JSON.stringify({ rules: [TWO] }) });
    const victim = await start({ CONFIG_FILE: `${root}/two.json` });
    const [happens, dropped] = [bank.plan('held'), bank.plan('held')];
    const sent = [await beginPayment(victim, happens), await beginPayment(victim, dropped)];
    victim.running.send('SIGKILL', 'service');
    await Promise.all(sent.map(({ answer }) => answer));
    await victim.running.exited;
    const survivor = await start({ CONFIG_FILE: `${root}/two.json` });
    const pay = async () => {
      const { mark } = bank.plan('book');
      return endsOf(await survivor.post([{ name: 'pay', arguments: { mark } }], { key: mark }));
    };
    expect(await pay()).toEqual(['rule_refused two']);
    await decideHeld(happens, dropped);
    expect(await whenSettled(survivor, happens)).toBe('happened');
    expect(await whenSettled(survivor, dropped)).toBe('did_not_happen');
    // The log line stands before what it tells of.
    await expect.poll(pay, { timeout: timeLimit(10_000) }).toEqual(['ok']);
    expect(await pay()).toEqual(['rule_refused two']);
  });
});
