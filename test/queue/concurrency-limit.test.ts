import { expect, test } from 'vitest';
import { createConcurrencyLimit } from '#src/queue/slot-counts.ts';
import type { Tool } from '#src/tools/tool.ts';
import { hostedTool, inlineTool } from './slot-lab.ts';

const limitOf = createConcurrencyLimit({
  maxConcurrentCalls: 512,
  callerConcurrency: 512,
  toolConcurrency: 64,
  maxHostedCalls: 8,
});
const at = (tool: Tool, concurrency: number): Tool => ({ ...tool, upstream: { name: 'mcp:files', concurrency } });

test.each([
  ['a tool that says nothing', inlineTool('a'), 64],
  ['a tool with a limit of its own', inlineTool('a', 3), 3],
  ['a tool with more than the service runs', inlineTool('a', 1_000), 512],
  ['a hosted tool that says nothing', hostedTool('a'), 8],
  ['a tool of an upstream that takes fewer', at(inlineTool('a'), 8), 8],
  ['a tool of an upstream that takes more', at(inlineTool('a', 3), 8), 3],
  ['a tool that says more than its upstream takes', at(inlineTool('a', 20), 8), 8],
  ['a hosted tool of an upstream', at(hostedTool('a'), 2), 2],
] as const)('%s', (_, tool, limit) => {
  expect(limitOf(tool)).toBe(limit);
});
