import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';

let directory: string;
let desk: string;
let service: RunningService;

const LOG = `
  import { appendFileSync } from 'node:fs';
  import { defineTool } from 'recourse-server';
  const write = (line) => appendFileSync(process.env.DESK + '/log', line + '\\n');
  const input = { type: 'object' };
`;

const toFile = (name: string, version: number): string => `${LOG}
  let made = 0;
  const connect = async () => {
    made += 1;
    write('${name} set up ${version}');
    // Something that stays open, as a connection does.
    return { number: made, timer: setInterval(() => undefined, 1000) };
  };
  const close = ({ timer }) => { clearInterval(timer); write('${name} torn down ${version}'); };
  const tool = (name) => defineTool({
    name, description: '', effects: 'read', input, setup: connect, teardown: close,
    isolation: name.startsWith('inline') ? 'inline' : 'process',
    run: (_input, { resource }) => ({ number: resource.number, pid: process.pid }),
  });
  export const tools = [tool('${name}'), tool('${name}_too')];
`;

const FAILING = `${LOG}
  export const tool = defineTool({
    name: 'cannot_connect', description: '', effects: 'write', retries: 3, input,
    setup: () => { write('tries to connect'); throw new Error('connect ECONNREFUSED'); },
    run: () => 'never',
  });
  export const slow = defineTool({
    name: 'slow_to_connect', description: '', effects: 'write', retries: 3, input, timeoutMs: ${timeLimit(1000)},
    setup: () => new Promise((resolve) => setTimeout(resolve, ${timeLimit(2000)}, 'slow')),
    run: (_input, { resource }) => resource,
  });
`;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'recourse-'));
  desk = await mkdtemp(join(tmpdir(), 'recourse-'));
  await writeFile(join(desk, 'log'), '');
  await writeFile(join(directory, 'hosted.ts'), toFile('hosted', 1));
  await writeFile(join(directory, 'inline.ts'), toFile('inline', 1));
  await writeFile(join(directory, 'failing.ts'), FAILING);
  process.env['DESK'] = desk;
  const settings = {
    TOOLS_DIR: directory,
    TOOLS_INLINE: 'inline,inline_too',
    TOOLS_ENV: 'DESK',
    MAX_EVENT_LOOP_LAG_MS: '60000',
  };
  service = await startService(settings);
});

afterAll(async () => {
  delete process.env['DESK'];
  for (const path of [directory, desk]) await rm(path, { recursive: true });
});

const readLog = async (name: string): Promise<readonly string[]> =>
  (await readFile(join(desk, 'log'), 'utf8')).split('\n').filter((line) => line.startsWith(name));

const SOON = { timeout: timeLimit(10_000), interval: 50 };

test.for(['hosted', 'inline'])('%s: what setup makes is made once, and shared by tools that name it', async (name) => {
  const calls = [{ name }, { name: `${name}_too` }, { name }];
  const first = await service.call(calls, {});
  const again = await service.call([{ name: `${name}_too` }], {});
  const pid: unknown = Reflect.get(Object(first[0]?.value), 'pid');
  expect([...first, ...again].map(({ value }) => value)).toEqual(Array.from({ length: 4 }, () => ({ number: 1, pid })));
  expect(await readLog(name)).toEqual([`${name} set up 1`]);
});

test('it is torn down when a new version of its file serves, which sets up anew', async () => {
  const names = ['hosted', 'inline'];
  for (const name of names) await writeFile(join(directory, `${name}.ts`), toFile(name, 2));
  for (const name of names)
    await expect.poll(() => readLog(name), SOON).toEqual([`${name} set up 1`, `${name} torn down 1`]);
  expect(
    await service.call(
      names.map((name) => ({ name })),
      {},
    ),
  ).toMatchObject([{ success: true }, { success: true }]);
  for (const name of names)
    expect(await readLog(name)).toEqual([`${name} set up 1`, `${name} torn down 1`, `${name} set up 2`]);
});

test('a setup that throws is the failure of an upstream, and is not run again for the next call', async () => {
  const [first] = await service.call([{ name: 'cannot_connect' }], {});
  const [second] = await service.call([{ name: 'cannot_connect' }], {});
  expect(first).toMatchObject({
    outcome: 'retry',
    executed: 'no',
    message:
      "Tool 'cannot_connect' could not be started: Error: connect ECONNREFUSED. Try again in 1 second, or use another tool.",
    error: { code: 'upstream_unavailable', retry_after_ms: 1000 },
  });
  expect(second).toMatchObject({ executed: 'no', error: { code: 'upstream_unavailable' } });
  expect(await readLog('tries')).toEqual(['tries to connect']);
});

test('a call does not wait for a setup beyond its time; the setup goes on, and a later call has it', async () => {
  const [first] = await service.call([{ name: 'slow_to_connect' }], {});
  expect(first).toMatchObject({
    outcome: 'retry',
    executed: 'no',
    message: "Tool 'slow_to_connect' is still starting. Try again in a moment.",
    error: { code: 'upstream_unavailable' },
  });
  await expect.poll(async () => (await service.call([{ name: 'slow_to_connect' }], {}))[0]?.value, SOON).toBe('slow');
});

test('at the end of the service everything is torn down', async () => {
  await service.stop();
  expect((await readLog('hosted')).at(-1)).toBe('hosted torn down 2');
  expect((await readLog('inline')).at(-1)).toBe('inline torn down 2');
});
