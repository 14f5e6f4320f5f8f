import { defineTool } from 'recourse-server/internal/tools/define-tool.ts';
import type { InlineTool } from 'recourse-server/internal/tools/tool.ts';
import { expect, test } from 'vitest';
import { watchDirectory } from './watched-directory.ts';

const toInlineTool = (name: string): InlineTool =>
  defineTool({ name, description: 'Made for one test.', effects: 'read', input: { type: 'object' }, run: () => 1 });

const inlineTools = (names: readonly string[]) => () => Promise.resolve(names.map(toInlineTool));

test('a tool that asks to run inside the service does so where the operator names it, and else says that it does not', async () => {
  const tools = await watchDirectory(
    { 'a.ts': 'inline fast\ninline cheeky\ntool plain' },
    { inline: { allowed: new Set(['fast', 'plain']), load: inlineTools(['fast', 'cheeky', 'plain']) } },
  );
  expect(['fast', 'cheeky', 'plain'].map((name) => tools.registry.find(name)?.runsIn)).toEqual([
    'service',
    'host',
    'host',
  ]);
  expect(tools.registry.find('fast')?.source).toBe('TOOLS_DIR/a.ts');
  expect(tools.log.filter(({ level }) => level === 'warn')).toEqual([
    {
      level: 'warn',
      message: 'tool runs in a separate process: TOOLS_INLINE does not name it',
      tool: 'cheeky',
      file: 'a.ts',
    },
  ]);
});

test('the service imports no file of which no tool was asked for and allowed', async () => {
  const load = () => Promise.reject(new Error('imported'));
  const tools = await watchDirectory(
    { 'a.ts': 'inline a', 'b.ts': 'tool b' },
    { inline: { allowed: new Set(['b']), load } },
  );
  expect(tools.offered()).toEqual(['a', 'b']);
});

test('a file that cannot be imported into the service is one that failed', async () => {
  const load = () => Promise.reject(new Error('no such module'));
  const broken = await watchDirectory({ 'a.ts': 'inline a' }, { inline: { allowed: new Set(['a']), load } });
  expect(broken.offered()).toEqual(['-a: It cannot be loaded inside the service: no such module']);
  const other = await watchDirectory(
    { 'a.ts': 'inline a' },
    { inline: { allowed: new Set(['a']), load: inlineTools(['b']) } },
  );
  expect(other.offered()).toEqual([
    "-a: It cannot be loaded inside the service: the service does not find the tool 'a' in it",
  ]);
});
