import { defineTool } from 'recourse-server/internal/tools/define-tool.ts';
import type { Tool } from 'recourse-server/internal/tools/tool.ts';
import type { ToolOverride } from 'recourse-server/internal/tools/tool-override.ts';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { createOverrideLookup, createOverriding } from '#src/tool-override.ts';

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
