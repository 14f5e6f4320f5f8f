import { createActor } from '@recourse/test-support/keyed-client.ts';
import { defineTool } from 'recourse-server';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { RULES } from '#src/policies/policy-settings.ts';
import { findRuleMisfits } from '#src/rules/check-rules.ts';

const refund = defineTool({
  name: 'refund',
  description: 'Pays back.',
  effects: 'write',
  input: z.object({ amount: z.number(), note: z.string(), order: z.object({ id: z.int() }) }),
  run: () => null,
});
const { tool: loose } = createActor('fraud_check');

const find = (rules: unknown, are: 'all' | 'some' = 'all') => findRuleMisfits([refund, loose], RULES.parse(rules), are);
const cap = (sum: unknown, tools = 'refund') => [{ name: 'cap', tools, sum, max: 1 }];

test('rules that fit the tools have no misfits', () => {
  const requires = { success_of: 'fraud_check', same: ['/order/id'] };
  expect(find([...cap('/amount'), { name: 'first', tools: 'ref*', requires }])).toEqual([]);
  expect([...find(cap('/order/id')), ...find(cap(1, '*')), ...find(cap('/any', 'fraud_check'))]).toEqual([]);
});

test.each([
  [cap('/amuont'), "rules: cap: 'refund' has no argument at /amuont."],
  [cap('/order/amount'), "rules: cap: 'refund' has no argument at /order/amount."],
  [cap('/note'), "rules: cap: the argument of 'refund' at /note is no number."],
  [cap(1, 'refnud|payout_*'), 'rules: cap: no tool here is called refnud or payout_*.'],
  [[{ name: 'r', tools: 'refund', requires: { success_of: 'check' } }], 'rules: r: no tool here is called check.'],
])('%j: %s', (rules, misfit) => expect(find(rules)).toEqual([misfit]));

test('where other tools are known only to the service, a name alone is no misfit', () => {
  expect(find(cap(1, 'refnud'), 'some')).toEqual([]);
});

test.each([
  [cap(0.000_000_1), 'six decimals'],
  [[{ name: 'cap', tools: 'x', sum: 1, max: -1 }], 'six decimals'],
  [[{ name: 'cap', tools: 'x', sum: 1, max: 1, window: '25h' }], 'at most 24h'],
  [[{ name: 'cap', tools: 'x', sum: 1, max: 1, per: 'key' }], 'is required for tenant and key'],
  [[...cap(1), ...cap(1)], 'is the name of a rule above'],
])('%j is a mistake of the file: %s', (rules, words) =>
  expect(JSON.stringify(RULES.safeParse(rules).error?.issues)).toContain(words),
);
