import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { answerBoth, findHosts } from '@recourse/test-support/hostile-tools/isolated-lab.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ToolCatalogue } from '#src/contract/tool-description.ts';

const toTool = (name: string): string => `
  import { defineTool, z } from 'recourse-server';
  export const tool = defineTool({
    name: '${name}', description: '', effects: 'read', input: z.object({ place: z.int().optional() }),
    run: ({ place }) => ({ place }),
  });
`;

const FILES = {
  'good.ts': toTool('isolated_good'),
  'syntax_error.ts': 'export const = 1;',
  'throws_at_load.ts': "throw new Error('no licence');",
  'loops_at_load.ts': 'for (;;);',
  'exits_at_load.ts': 'process.exit(0);',
  'fills_memory_at_load.ts': 'const held = []; for (;;) held.push(new Array(100_000).fill({}));',
  'floods_at_load.ts': "for (;;) process.stdout.write('x'.repeat(1_000_000));",
  'one.ts': toTool('claimed_twice'),
  'two.ts': toTool('claimed_twice'),
};

let service: RunningService;
const root = realpathSync(mkdtempSync(join(tmpdir(), 'recourse-hostile-')));

beforeAll(async () => {
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(root, name), text);
  service = await startService({ TOOLS_DIR: root, TOOL_HOST_MEMORY_MB: '160', MAX_EVENT_LOOP_LAG_MS: '60000' });
});

afterAll(async () => {
  await service.stop();
  rmSync(root, { recursive: true, force: true });
  expect(findHosts()).toEqual([]);
});

test.each([
  'syntax_error',
  'throws_at_load',
  'loops_at_load',
  'exits_at_load',
  'fills_memory_at_load',
  'floods_at_load',
  'claimed_twice',
])('%s is unavailable, with the reason, and nothing else is', async (name) => {
  for (const result of await answerBoth(service, { name, arguments: {} }))
    expect(result).toMatchObject({ outcome: 'refused', executed: 'no', error: { code: 'tool_unavailable' } });
  const { tools } = ToolCatalogue.parse(await (await fetch(`${service.url}/tools`)).json());
  const found = tools.filter((tool) => tool.name === name);
  expect(found.length).toBeGreaterThan(0);
  for (const tool of found) {
    expect(tool).toMatchObject({ available: false });
    expect(tool.unavailable_reason).not.toBe('');
  }
});

test('of two tools of one name the reason names both files', async () => {
  const { tools } = ToolCatalogue.parse(await (await fetch(`${service.url}/tools`)).json());
  const reasons = tools.filter(({ name }) => name === 'claimed_twice').map((tool) => tool.unavailable_reason);
  expect(reasons).toHaveLength(2);
  for (const reason of reasons)
    expect(reason).toBe(
      "Several files provide a tool called 'claimed_twice': one.ts:3:23, two.ts:3:23. None is available: rename all but one, or export it once.",
    );
});
