import { defineTool } from 'recourse-server/internal/tools/define-tool.ts';
import { expect, test } from 'vitest';
import { watchDirectory } from './watched-directory.ts';

const REASON = 'breakerKey must be the name of an argument, since the tool runs in a process of its own.';

test('a tool whose breaker key is a function is unavailable where it runs in a process of its own', async () => {
  const tools = await watchDirectory({ 'a.ts': 'keyed x\ntool a', 'b.ts': 'keyed y' });
  expect(tools.offered()).toEqual(['a', `-x: ${REASON}`, `-y: ${REASON}`]);
  expect(tools.registry.find('x')).toBeUndefined();
  expect(tools.log.filter(({ level }) => level === 'warn')).toEqual([
    { level: 'warn', message: 'tool is unavailable', tool: 'x', source: 'TOOLS_DIR/a.ts', reason: REASON },
    { level: 'warn', message: 'tool is unavailable', tool: 'y', source: 'TOOLS_DIR/b.ts', reason: REASON },
  ]);
  // No process is kept for a file that has nothing to run.
  expect(tools.hosts.retired.map(({ path }) => path)).toEqual([`${tools.root}/b.ts`]);
});

test('such a tool takes no name from one that can run', async () => {
  const tools = await watchDirectory({ 'a.ts': 'keyed x', 'b.ts': 'tool x' });
  expect(tools.offered()).toEqual(['x', `-x: ${REASON}`]);
  expect(tools.registry.find('x')?.source).toBe('TOOLS_DIR/b.ts');
});

test('it serves inside the service, where the operator lets it run there', async () => {
  const inside = defineTool({
    name: 'x',
    description: 'Made for one test.',
    effects: 'read',
    input: { type: 'object' },
    breakerKey: () => 'one upstream',
    run: () => 1,
  });
  const inline = { allowed: new Set(['x']), load: () => Promise.resolve([inside]) };
  const tools = await watchDirectory({ 'a.ts': 'inline keyed x' }, { inline });
  expect(tools.offered()).toEqual(['x']);
  const found = tools.registry.find('x');
  expect(found?.runsIn === 'service' && found.breakerKeyOf?.({})).toBe('one upstream');
  const outside = await watchDirectory({ 'a.ts': 'inline keyed x' });
  expect(outside.offered()).toEqual([`-x: ${REASON}`]);
});
