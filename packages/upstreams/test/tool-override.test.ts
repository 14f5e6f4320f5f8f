import { defineTool } from 'recourse-server/internal/tools/define-tool.ts';
import type { Tool } from 'recourse-server/internal/tools/tool.ts';
import { ToolOverride } from 'recourse-server/internal/tools/tool-override.ts';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { createOverrideLookup, createOverriding, findUnasked } from '#src/tool-override.ts';

const lookup = (entries: Readonly<Record<string, ToolOverride>>, name: string) =>
  createOverrideLookup(new Map(Object.entries(entries)))(name);

test('each member is as the most specific entry says it that names the member', () => {
  const entries = {
    '*': { timeoutMs: 1000, retries: 9, polling: true },
    'github_*': { timeoutMs: 2000, retries: 5 },
    'github_get_*': { timeoutMs: 3000 },
    github_get_issue: { effects: 'read' },
  } as const;
  expect(lookup(entries, 'github_get_issue').members).toEqual({
    timeoutMs: 3000,
    retries: 5,
    polling: true,
    effects: 'read',
  });
  expect(lookup(entries, 'github_list').members).toEqual({ timeoutMs: 2000, retries: 5, polling: true });
  expect(lookup(entries, 'echo').members).toEqual({ timeoutMs: 1000, retries: 9, polling: true });
});

test('a name comes before any pattern, and of two patterns alike the first, whatever the order they stand in', () => {
  expect(lookup({ 'ab*': { retries: 1 }, ab: { retries: 2 } }, 'ab').members).toEqual({ retries: 2 });
  expect(lookup({ ab: { retries: 2 }, 'ab*': { retries: 1 } }, 'ab').members).toEqual({ retries: 2 });
  expect(lookup({ 'ab*': { retries: 1 }, '*bc': { retries: 2 } }, 'abc').members).toEqual({ retries: 1 });
  expect(lookup({ '*bc': { retries: 2 }, 'ab*': { retries: 1 } }, 'abc').members).toEqual({ retries: 2 });
});

test('one tool can stay on where a pattern switches many off', () => {
  const entries = { 'shop_*': { enabled: false }, shop_search: { enabled: true } };
  expect(lookup(entries, 'shop_order').disabledBy).toBe('shop_*');
  expect(lookup(entries, 'shop_search').disabledBy).toBeNull();
  expect(lookup(entries, 'echo').disabledBy).toBeNull();
});

const tool = defineTool({
  name: 'echo',
  description: '',
  input: z.object({}),
  effects: 'write',
  concurrency: 2,
  maxCallsPerSession: 3,
  run: () => 1,
});

const overriding = () => {
  const override = createOverriding();
  return (one: Tool, members: ToolOverride) => override(one, { members, disabledBy: null, effectIdBy: 'echo' });
};

test('a tool and its override make the same object again, and another override another', () => {
  const override = overriding();
  const first = override(tool, { retries: 0 });
  expect(override(tool, { retries: 0 })).toBe(first);
  expect(override(tool, { retries: 2 })).not.toBe(first);
  expect(override(tool, {})).toBe(tool);
  expect(override(tool, { enabled: true })).toBe(tool);
});

test('what is left out stays as the tool has it; null takes a limit away, 0 and false are values', () => {
  const overridden = overriding()(tool, { concurrency: null, maxCallsPerSession: 0, retries: 0, polling: false });
  expect(overridden).toMatchObject({
    concurrency: null,
    maxCallsPerSession: 0,
    retries: 0,
    polling: false,
    effects: 'write',
  });
});

test.each<readonly [object, object | string]>([
  [
    { tool: 'list', happened: '' },
    { arguments: {}, happened: '', final: false, afterMs: 10_000 },
  ],
  [
    { tool: 'list', arguments: { a: ['{effectId}', { b: '{/a~1b}' }, '{ x } {}'] }, happened: '/a/0', after: '90s' },
    { afterMs: 90_000 },
  ],
  [
    { tool: 'list', happened: '/a', final: true, after: '24h' },
    { final: true, afterMs: 86_400_000 },
  ],
  [{ tool: 'list' }, 'happened: Invalid input: expected string, received undefined'],
  [{ tool: 'list', happened: 'items' }, 'happened: must be a JSON Pointer into the value, such as /items/0'],
  [{ tool: 'list', happened: '/a~2' }, 'happened: must be a JSON Pointer into the value, such as /items/0'],
  [{ tool: 'list', happened: '/a', after: '10' }, 'after: must be a duration such as 10s'],
  [{ tool: 'list', happened: '/a', after: '25h' }, 'after: must be at most 24h: no write is looked for any longer'],
  ...['{effectid}', 'x {/a~2}', '{/}{id}'].map(
    (text) =>
      [
        { tool: 'list', arguments: { a: { b: [text] } }, happened: '/a' },
        'arguments.a: has a placeholder that is neither {effectId} nor {/POINTER} into the arguments of the call',
      ] as const,
  ),
])('the file says how another tool is asked: %j', (reconcile, expected) => {
  const { data, error } = ToolOverride.safeParse({ reconcile });
  const [issue] = error?.issues ?? [];
  if (issue === undefined) expect(data?.reconcile).toMatchObject(Object(expected));
  else expect(`${issue.path.slice(1).join('.')}: ${issue.message}`).toBe(expected);
});

const asking = (name: string, asked: string, effects: 'read' | 'write' = 'write'): Tool => ({
  ...tool,
  ...{ name, effects },
  reconcileBy: { tool: asked, arguments: {}, happened: '/items/0', final: false, afterMs: 0 },
});

test('what cannot be asked is told, and what is missing only where it cannot come yet', () => {
  const tools = [
    { ...tool, name: 'list', effects: 'read' } as const,
    { ...tool, name: 'sum', role: 'reducer', effects: 'read' } as const,
    ...[asking('pay', 'list'), asking('give', 'pay'), asking('lend', 'lst'), asking('owe', 'sum')],
    asking('show', 'list', 'read'),
  ];
  const told = [
    {
      tool: 'give',
      problem:
        "reconcile asks 'pay', which is a write: a check only reads. Name another tool, or set its effects to read.",
    },
    { tool: 'show', problem: "reconcile is for writes, and effects of 'show' is 'read': remove it there." },
  ];
  expect(findUnasked(tools, false)).toEqual(told);
  expect(findUnasked(tools, true)).toEqual([
    told[0],
    { tool: 'lend', problem: "reconcile asks 'lst', and no such tool serves." },
    { tool: 'owe', problem: "reconcile asks 'sum', and no such tool serves." },
    told[1],
  ]);
});
