import { type Lab, type LabFile, openLab, toOutcome, toolFile } from '@recourse/test-support/isolation-lab.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';

// What code of one file does to its process, and what the next call of another file finds.

const INNOCENT = toolFile(
  {
    world: `
      const list = [];
      list.push(1);
      return {
        list, polluted: ({}).polluted ?? null, leaked: process.env.LEAKED ?? null, cwd: process.cwd() === '/',
        read: fs.readFileSync('/proc/self/comm', 'utf8').length > 0, listeners: process.listenerCount('uncaughtException'),
        fetch: fetch.name, write: Socket.prototype.write.name,
      };`,
    pid: 'await wait(input.ms ?? 0); return process.pid;',
  },
  "import fs from 'node:fs'; import { Socket } from 'node:net';",
);

const CLEAN = {
  list: [1],
  polluted: null,
  leaked: null,
  cwd: false,
  read: true,
  listeners: 1,
  fetch: 'fetch',
  write: '',
};

const openPair = async (guilty: string, maxHosts = 2): Promise<{ lab: Lab; guilty: LabFile; innocent: LabFile }> => {
  const lab = openLab({ maxHosts, minHosts: 1 });
  // In one process, which both have loaded.
  const files = await lab.loadAll(
    new Map([
      ['guilty.ts', guilty],
      ['innocent.ts', INNOCENT],
    ]),
  );
  const [file, innocent] = [files.get('guilty.ts'), files.get('innocent.ts')];
  if (file === undefined || typeof file === 'string' || innocent === undefined || typeof innocent === 'string')
    throw new Error([...files.values()].filter((end) => typeof end === 'string').join());
  expect(toOutcome(await innocent.call('world'))).toEqual(CLEAN);
  return { lab, guilty: file, innocent };
};

test.each([
  ['patches a method of lists', 'Array.prototype.push = () => 0;'],
  ['pollutes every object', "Object.prototype.polluted = 'yes';"],
  ['patches a module of Node', "fs.readFileSync = () => '';"],
  ['patches a class of Node', 'net.Socket.prototype.write = () => true; setImmediate(() => undefined);'],
  ['replaces fetch', 'globalThis.fetch = function mine() {};'],
  ['changes the environment', "process.env.LEAKED = 'yes';"],
  ['changes the directory', "process.chdir('/');"],
  ['listens for what nobody caught', "process.on('uncaughtException', () => undefined);"],
])('a file that %s has changed nothing for another', async (_what, body) => {
  const imports = "import fs from 'node:fs'; import net from 'node:net';";
  const { lab, guilty, innocent } = await openPair(toolFile({ act: `${body} return 'done';` }, imports));
  for (let n = 0; n < 3; n += 1) {
    await guilty.call('act', {}, 1000);
    expect(toOutcome(await innocent.call('world'))).toEqual(CLEAN);
  }
  expect(lab.offences.filter((offence) => !offence.startsWith('guilty.ts'))).toEqual([]);
});

test.each([
  ['a timer', 'setInterval(() => undefined, 50);'],
  ['a socket', "net.createServer().listen(0, '127.0.0.1');"],
  ['a process', "spawn('sleep', ['30'], { stdio: 'ignore', detached: true }).unref();"],
])('a file that keeps %s keeps its process for itself', async (_what, body) => {
  const file = toolFile(
    { keep: `${body} return process.pid;`, pid: 'return process.pid;' },
    "import net from 'node:net';",
  );
  const { guilty, innocent } = await openPair(file);
  const kept = toOutcome(await guilty.call('keep'));
  const others = [toOutcome(await innocent.call('pid')), toOutcome(await innocent.call('pid'))];
  expect(others).not.toContain(kept);
  expect(others.map((pid) => typeof pid)).toEqual(['number', 'number']);
  expect(toOutcome(await guilty.call('pid'))).toBe(kept);
});

test('a file that leaks ten megabytes a call costs another no call', async () => {
  const file = toolFile({ leak: "kept.push(Buffer.alloc(10_485_760, 1)); return 'leaked';" }, 'const kept = [];');
  const { guilty, innocent } = await openPair(file);
  for (let n = 0; n < 30; n += 1) {
    expect(toOutcome(await guilty.call('leak'))).toBe('leaked');
    expect(toOutcome(await innocent.call('world'))).toEqual(CLEAN);
  }
});

test.each([
  ['in a microtask', 'queueMicrotask(() => queueMicrotask(() => process.exit(9)));'],
  ['in the next turn', 'setImmediate(() => process.exit(9));'],
  ['by a timer that holds nothing', 'setTimeout(() => process.exit(9), 30).unref();'],
])('a file that exits %s after its answer costs another no call', async (_how, body) => {
  const { lab, guilty, innocent } = await openPair(toolFile({ leave: `${body} return 'left';` }), 1);
  for (let n = 0; n < 3; n += 1) {
    const [, ...pids] = await Promise.all([
      guilty.call('leave'),
      ...Array.from({ length: 5 }, () => innocent.call('pid', { ms: 50 })),
    ]);
    expect(pids.map(toOutcome).filter((pid) => typeof pid !== 'number')).toEqual([]);
  }
  expect(lab.offences.filter((offence) => !offence.startsWith('guilty.ts'))).toEqual([]);
});

test('a call that blocks its process delays nine siblings by less than its own time, and runs alone from then on', async () => {
  const file = toolFile({
    work: "if (input.block) { await wait(20); for (;;); } await wait(600); return 'worked';",
  });
  const { lab, guilty, innocent } = await openPair(file, 3);
  const startedAt = performance.now();
  const blocker = guilty.call('work', { block: true }, 8000);
  const siblings = await Promise.all(Array.from({ length: 9 }, () => guilty.call('work', {}, 8000)));
  expect(siblings.map(toOutcome)).toEqual(Array.from({ length: 9 }, () => 'worked'));
  expect(performance.now() - startedAt).toBeLessThan(timeLimit(7000));
  expect(toOutcome(await innocent.call('world'))).toEqual(CLEAN);
  expect(toOutcome(await blocker)).toBe('timed_out');
  expect(lab.isolation.placingOf(guilty.tool('work'))).toBe('alone');
});

test('a write that another call of its file took its process from may have run, and is not run again', async () => {
  const text = `${toolFile({ leave: 'await wait(200); process.exit(7);', read: "await wait(400); return 'read';" })}
    export const write = defineTool({ name: 'write', description: '', effects: 'write', input: { type: 'object' },
      run: async () => { await wait(400); return 'written'; } });`;
  // With one process they have to share it.
  const { guilty } = await openPair(text, 1);
  await guilty.call('read');
  const ends = await Promise.all(['leave', 'read', 'write'].map((name) => guilty.call(name).then(toOutcome)));
  const lost = { executed: 'maybe', retryAfterMs: null };
  expect(ends).toEqual([{ code: 'tool_crashed', ...lost }, 'read', { code: 'interrupted', ...lost }]);
});

test('files that are granted other variables share no process', async () => {
  const asking = (name: string) => `
    import { defineTool } from 'recourse-server';
    export default defineTool({ name: 'ask', description: '', effects: 'read', input: { type: 'object' },
      env: ['${name}'], run: () => ({ pid: process.pid, a: process.env.KEY_A ?? null, b: process.env.KEY_B ?? null }) });`;
  const environment = { ...process.env, KEY_A: 'a', KEY_B: 'b' };
  const lab = openLab({ environment, allowedVariables: ['KEY_*'], maxHosts: 3 });
  const [a, b] = [await lab.load(asking('KEY_A'), 'a.ts'), await lab.load(asking('KEY_B'), 'b.ts')];
  const [ofA, ofB] = [toOutcome(await a.call('ask')), toOutcome(await b.call('ask'))];
  expect(ofA).toMatchObject({ a: 'a', b: null });
  expect(ofB).toMatchObject({ a: null, b: 'b' });
  expect(toOutcome(await a.call('ask'))).toEqual(ofA);
});
