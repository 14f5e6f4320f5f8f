import { expect, test } from 'vitest';
import type { Tool } from '#src/tools/tool.ts';
import { createSlotLab, inlineTool } from './slot-lab.ts';

const toolAt = (name: string, upstream: string, concurrency: number): Tool => ({
  ...inlineTool(name),
  upstream: { name: upstream, concurrency },
});

const read = toolAt('files_read', 'mcp:files', 2);
const write = toolAt('files_write', 'mcp:files', 2);
const search = inlineTool('search');

test('the tools of one upstream share its slots, whoever calls them', () => {
  const { slots, story, want, release } = createSlotLab();
  want('a1', read, 'a');
  want('b1', write, 'b');
  want('a2', write, 'a');
  want('b2', read, 'b');
  expect(story).toEqual([]);
  release(read, 'a');
  expect(story).toEqual(['a2 taken']);
  release(write, 'b');
  expect(story).toEqual(['a2 taken', 'b2 taken']);
  release(write, 'a');
  release(read, 'b');
  expect(slots.isIdle()).toBe(true);
});

test('an upstream that hangs holds up no other upstream, and no tool that talks to none', () => {
  const { slots, want } = createSlotLab({ maxQueuedCalls: 3 });
  for (const name of ['a1', 'a2', 'a3', 'a4', 'a5', 'a6']) want(name, read, 'a');
  expect(slots.tryTake(search, 'a')).toBe(true);
  expect(slots.tryTake(toolAt('api_list', 'openapi:api', 1), 'a')).toBe(true);
  expect(slots.isFullFor('a')).toBe(false);
});

test('a tool of an upstream keeps its own, smaller limit', () => {
  const { story, want, release } = createSlotLab();
  const narrow: Tool = { ...read, concurrency: 1 };
  want('a1', narrow, 'a');
  want('a2', narrow, 'a');
  want('a3', write, 'a');
  expect(story).toEqual([]);
  release(write, 'a');
  expect(story).toEqual([]);
  release(narrow, 'a');
  expect(story).toEqual(['a2 taken']);
});

test('a new limit of an upstream holds from the next call on, and what runs is not forgotten', () => {
  const { slots, story, want, release } = createSlotLab();
  want('a1', read, 'a');
  want('a2', read, 'a');
  const wider = toolAt('files_read', 'mcp:files', 3);
  expect(slots.tryTake(wider, 'a')).toBe(true);
  expect(slots.tryTake(wider, 'a')).toBe(false);
  for (const tool of [read, read, wider]) release(tool, 'a');
  expect(slots.isIdle()).toBe(true);
  expect(story).toEqual([]);
});

test('nobody waits for an upstream that has given back no slot for twice the time limit', () => {
  const { story, want, advance } = createSlotLab();
  const hanging: Tool = { ...toolAt('files_hang', 'mcp:files', 1), timeoutMs: 5_000 };
  want('a1', hanging, 'a');
  advance(11_000);
  want('a2', hanging, 'a');
  expect(story).toEqual(['a2 deadline']);
});
