import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runToEnd, startProcess } from '@recourse/test-support/start-process.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';

const SLOW_MS = timeLimit(60_000);

/** A module whose extension opens by these statements, and the file of it. */
const writeExtension = (statements: string): string => {
  const directory = mkdtempSync(join(tmpdir(), 'recourse-extension-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const file = join(directory, 'odd.mts');
  writeFileSync(
    file,
    `import { z } from 'recourse-server';
    import { defineExtension, defineSource, Gauge } from 'recourse-server/extension';
    export const extension = defineExtension({
      name: 'odd',
      settings: { ODD_WORD: z.string().describe('The word of odd.') },
      sources: { odds: async () => defineSource({
        kind: 'odd',
        description: 'Odd sources',
        settings: z.strictObject({ how: z.string() }),
        prefixOf: (_settings, name) => name,
        load: async () => ({ settings, publish }) => ({
          start: async () => {
            if (settings.how === 'rejects') throw new Error('no way to start');
            publish({ tools: [] });
          },
          stop: async () => undefined,
          state: () => { throw new Error('no state'); },
        }),
      }) },
      open: async ({ ODD_WORD }, { metrics }) => { ${statements} },
    });`,
  );
  return file;
};

const problemOf = async (environment: Readonly<Record<string, string>>): Promise<string> => {
  const { code, stderr } = await runToEnd({ by: 'node', environment });
  expect(code).toBe(1);
  return stderr.trim();
};

test('a start that an extension ends says which one, and why', { timeout: SLOW_MS }, async () => {
  const word = { ODD_WORD: 'word' };
  expect(await problemOf({ EXTENSIONS: writeExtension('return {};') })).toBe(
    'recourse: ODD_WORD is not set, and an extension needs it: The word of odd.',
  );
  const reasons = [
    ["throw new Error('no room');", 'no room'],
    ['return { consolPage: 1 };', 'what it adds is wrong: Unrecognized key: "consolPage"'],
    ["return { tools: [{ name: 'x' }] };", 'what it adds is wrong: tools.0 must be made by defineTool'],
    [
      "new Gauge({ name: 'recourse_build_info', help: 'x', registers: [metrics] }); return {};",
      'its metric recourse_build_info has the name of another.',
    ],
  ] as const;
  for (const [statements, reason] of reasons)
    expect(await problemOf({ ...word, EXTENSIONS: writeExtension(statements) })).toBe(
      `recourse: EXTENSIONS: 'odd' cannot open: ${reason}`,
    );
  expect(
    await problemOf({
      ...word,
      EXTENSIONS: writeExtension("return { addRoutes: (app) => { app.get('/tools', () => 1); } };"),
    }),
  ).toBe("recourse: EXTENSIONS: 'odd' cannot add its routes: Method 'GET' already declared for route '/tools'");
});

test('metrics that fail, links with a name of the service and sources that throw leave the service as it is', {
  timeout: SLOW_MS,
}, async () => {
  const file = writeExtension(`
    new Gauge({ name: 'odd_gauge', help: 'x', registers: [metrics], collect() { throw new Error('no gauge'); } });
    return {
      links: { tools: '/elsewhere', odd: '/odd' },
      close: () => { throw new Error('no end'); },
      addRoutes: (app, { bodyOf }) => { app.post('/odd', (request) => ({ got: bodyOf(request), word: ODD_WORD })); },
    };`);
  const configFile = join(file, '../config.yaml');
  writeFileSync(configFile, 'odds:\n  one:\n    how: rejects\n  two:\n    how: throws\n');
  const service = await startProcess({
    by: 'node',
    environment: { EXTENSIONS: file, ODD_WORD: 'word', CONFIG_FILE: configFile },
  });
  const metrics = await fetch(`${service.url}/metrics`);
  expect([metrics.status, (await metrics.text()).includes('recourse_build_info{')]).toEqual([200, true]);
  expect(await service.logged('metrics of an extension cannot be collected')).toMatchObject({ extension: 'odd' });
  expect(await (await fetch(service.url)).json()).toMatchObject({ links: { tools: '/tools', odd: '/odd' } });
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`${service.url}/odd`, { method: 'POST', headers, body: '{"a":1}' });
  expect(await answer.json()).toEqual({ got: { a: 1 }, word: 'word' });
  expect(await (await fetch(`${service.url}/ready`)).json()).toMatchObject({
    upstreams: [
      { name: 'odd:one', status: 'down', reason: 'no way to start' },
      { name: 'odd:two', status: 'down', reason: 'no state' },
    ],
  });
  service.send('SIGTERM', 'service');
  expect(await service.logged('extension failed to close')).toMatchObject({ extension: 'odd' });
  await service.logged('stopped');
  expect(await service.exited).toEqual({ code: 0, signal: null });
});
