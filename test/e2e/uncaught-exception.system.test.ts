import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startProcess } from '@recourse/test-support/start-process.ts';
import { expect, onTestFinished, test } from 'vitest';

const SECRET = 'canary-3fQ9-inline-7c1d';

const TOOL = `import { defineTool, z } from 'recourse-server';
export const throws_later = defineTool({
  name: 'throws_later',
  description: 'Throws where nobody waits for it.',
  effects: 'read',
  isolation: 'inline',
  input: z.object({}),
  run: () => {
    setTimeout(() => { throw new Error('It holds ' + ${JSON.stringify(SECRET)}); }, 10);
    return new Promise(() => undefined);
  },
});
`;

test('an exception that nobody caught ends the service with code 1, and shows no secret on its way', async () => {
  const root = mkdtempSync(join(tmpdir(), 'recourse-uncaught-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  mkdirSync(join(root, 'tools'));
  writeFileSync(join(root, 'tools', 'throws-later.ts'), TOOL);
  const running = await startProcess({
    by: 'node',
    environment: { TOOLS_DIR: join(root, 'tools'), TOOLS_INLINE: 'throws_later', MY_TOKEN: SECRET },
  });
  const body = JSON.stringify({ calls: [{ name: 'throws_later', arguments: {} }] });
  const headers = { 'content-type': 'application/json' };
  // Nobody is left to answer it.
  await fetch(`${running.url}/tool-calls`, { method: 'POST', headers, body }).catch(() => undefined);
  expect(await running.exited).toEqual({ code: 1, signal: null });
  expect(running.stderr()).toContain('recourse: uncaught exception: It holds [redacted]\n');
  expect(running.logLines().filter(({ msg }) => msg === 'uncaught exception')).toMatchObject([
    { level: 60, causes: [{ type: 'Error', message: 'It holds [redacted]' }] },
  ]);
  expect(`${running.stderr()}${JSON.stringify(running.logLines())}`).not.toContain(SECRET);
});
