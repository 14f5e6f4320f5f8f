import { createActor } from '@recourse/test-support/keyed-client.ts';
import { openMemoryRecords } from '@recourse/test-support/record-stores-under-test.ts';
import type { CallToDecide } from 'recourse-server/executor/policies';
import { expect, test } from 'vitest';
import { RULES } from '#src/policies/policy-settings.ts';
import { ServiceRules } from '#src/rules/rule-book.ts';
import { RuleStore } from '#src/rules/rule-store.ts';

const { tool } = createActor('refund', { effects: 'write' });
const CAP = { name: 'cap', tools: 'refund', sum: '/amount', max: 5000, window: '1h' };

const open = (rules: unknown = [CAP], most = 10) => {
  const { store: records, pass } = openMemoryRecords();
  const store = new RuleStore(records, { durability: 'process', most });
  const decided: string[] = [];
  const book = new ServiceRules({
    ...{ store, time: records.now, onFailed: () => undefined },
    decided: (rule, decision) => decided.push(`${rule} ${decision}`),
  });
  const apply = (next: unknown): void => book.apply(RULES.parse(next));
  apply(rules);
  return { book, pass, decided, apply };
};

let names = 0;
const callOf = (amount: number, more: Partial<CallToDecide> = {}): CallToDecide => {
  names += 1;
  return {
    ...{ tool, input: { amount }, tenant: 't', key: null, caller: null, keyHash: null, sessionKey: 't:s' },
    ...{ requestId: 'r', index: 0, id: null, name: 'refund', reservation: `r${names}`, timeoutMs: 1000 },
    ...{ mayWait: false, notify: null, place: null, pending: null, ...more },
  };
};

test('a forecast counts the calls before it in its batch, and reserves nothing', async () => {
  const { book } = open();
  const calls = [callOf(3000), callOf(2001), callOf(2000)];
  const forecast = await book.forecast(calls);
  expect(forecast.map(({ failure, rules }) => [failure?.code ?? 'run', rules[0]?.remaining_after])).toEqual([
    ['run', '2000'],
    ['rule_refused', '0'],
    ['run', '0'],
  ]);
  expect(forecast[1]?.failure).toMatchObject({ decision: { rule: 'cap' }, outcome: 'refused', executed: 'no' });
  expect(forecast[1]?.failure?.message).toContain('2,000 of 5,000 are left.');
  expect((await book.decide([callOf(5000)]))[0]?.kind).toBe('run');
  expect(await book.viewSession('t:s', () => true)).toMatchObject([{ used: '0', reserved: '5000' }]);
});

test('a refusal says until when so much is left', async () => {
  const { book, pass } = open();
  const [first] = await book.decide([callOf(3000)]);
  if (first?.kind === 'run') first.grant?.settle('yes', true);
  pass(60_000);
  // The clock of the test began at 00:16:40.
  const [second] = await book.decide([callOf(2500)]);
  expect(second).toMatchObject({
    failure: { message: 'The rule cap does not let this call run. 2,000 of 5,000 are left until 01:17 UTC.' },
  });
});

test('an edited call that waits swaps its reservation, and one that is refused then gives it back', async () => {
  const { book } = open();
  const [accepted] = await book.decide([callOf(3000)]);
  const ticket = accepted?.kind === 'run' ? (accepted.grant?.ticket ?? null) : null;
  const pending = { handle: 'h', approval: null, ticket };
  expect((await book.decide([callOf(4500, { pending })]))[0]?.kind).toBe('run');
  const stands = async () => (await book.viewSession('t:s', () => true)).map(({ reserved }) => reserved);
  expect(await stands()).toEqual(['4500']);
  expect((await book.decide([callOf(5001, { pending })]))[0]?.kind).toBe('refused');
  expect(await stands()).toEqual(['0']);
});

test('what was reserved is given back by its ticket, also where its rule is gone', async () => {
  const { book, apply } = open();
  const [accepted] = await book.decide([callOf(3000)]);
  const ticket = accepted?.kind === 'run' ? (accepted.grant?.ticket ?? '') : '';
  apply([]);
  await book.settle(ticket, 'no', false);
  apply([CAP]);
  expect(await book.viewSession('t:s', () => true)).toMatchObject([{ reserved: '0' }]);
  await book.settle('{"none":"of ours"}', 'yes', true);
});

test('a call that waits gives back what was reserved where another rule refuses it before', async () => {
  const { book, apply } = open();
  const [accepted] = await book.decide([callOf(3000)]);
  const ticket = accepted?.kind === 'run' ? (accepted.grant?.ticket ?? null) : null;
  apply([CAP, { name: 'first', tools: 'refund', requires: { success_of: 'check' } }]);
  const [decision] = await book.decide([callOf(3000, { pending: { handle: 'h', approval: null, ticket } })]);
  expect(decision).toMatchObject({ failure: { decision: { rule: 'first' } } });
  expect(await book.viewSession('t:s', () => true)).toMatchObject([{ reserved: '0' }]);
});

test('a call that waits under a rule that is gone gives back what that had reserved', async () => {
  const { book, apply } = open();
  const [accepted] = await book.decide([callOf(3000)]);
  const ticket = accepted?.kind === 'run' ? (accepted.grant?.ticket ?? null) : null;
  apply([]);
  expect(await book.decide([callOf(3000, { pending: { handle: 'h', approval: null, ticket } })])).toEqual([
    { kind: 'run', grant: null, decided: null },
  ]);
  apply([CAP]);
  expect(await book.viewSession('t:s', () => true)).toMatchObject([{ reserved: '0' }]);
});

test('in memory a rule that may count no further scope refuses, and one that observes lets pass', async () => {
  const { book, pass, apply } = open([CAP], 2);
  const decide = async (session: string) => {
    const [decision] = await book.decide([callOf(1, { sessionKey: `t:${session}` })]);
    return decision?.kind === 'refused' ? decision.failure.code : decision?.kind;
  };
  expect([await decide('a'), await decide('b'), await decide('c'), await decide('a')]).toEqual([
    ...['run', 'run', 'store_unavailable', 'run'],
  ]);
  apply([{ ...CAP, mode: 'observe' }]);
  expect(await decide('c')).toBe('run');
  apply([CAP]);
  // All that was counted has left its window.
  pass(2 * 3_600_000);
  expect(await decide('c')).toBe('run');
});

test('each rule that decides of a call is counted once', async () => {
  const observed = { ...CAP, name: 'observed', mode: 'observe', max: 1 };
  const { book, decided } = open([CAP, observed]);
  await book.decide([callOf(3000), callOf(3000)]);
  expect(decided).toEqual(['observed would_refuse', 'cap allowed', 'cap refused']);
});
