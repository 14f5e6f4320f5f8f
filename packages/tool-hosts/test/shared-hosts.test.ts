import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openLab, toOutcome, toolFile } from '@recourse/test-support/isolation-lab.ts';
import { startService } from '@recourse/test-support/start-service.ts';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import { expect, onTestFinished, test } from 'vitest';

const FILE = toolFile({ pid: 'await wait(input.ms ?? 0); return process.pid;' });

test('two files have their turns in one process', async () => {
  const { load, hostCount } = openLab({ maxHosts: 1, minHosts: 1 });
  const [a, b] = [await load(FILE, 'a.ts'), await load(FILE, 'b.ts')];
  const pids: unknown[] = [];
  for (let n = 0; n < 3; n += 1) for (const file of [a, b]) pids.push(toOutcome(await file.call('pid')));
  expect(new Set(pids).size).toBe(1);
  expect(typeof pids[0]).toBe('number');
  expect(hostCount()).toBe(1);
});

test('ten calls of one file run side by side in one process', async () => {
  const { load } = openLab({ maxHosts: 1, minHosts: 1 });
  const { call } = await load(FILE);
  await call('pid');
  const startedAt = performance.now();
  const pids = await Promise.all(Array.from({ length: 10 }, () => call('pid', { ms: 300 }).then(toOutcome)));
  expect(performance.now() - startedAt).toBeLessThan(900);
  expect(new Set(pids).size).toBe(1);
});

test('a package that uses the web changes nothing for other files, and one that patches it does', async () => {
  const lab = openLab({ maxHosts: 1 });
  const folder = join(lab.root, 'node_modules/web');
  mkdirSync(folder, { recursive: true });
  const members = "use: () => new Headers(), patch: () => { Headers.prototype.get = () => 'sham'; }";
  writeFileSync(join(folder, 'index.js'), `module.exports = { ${members} };`);
  const guilty = await lab.load(
    toolFile({ act: 'web[input.what](); return process.pid;' }, "import web from 'web';"),
    'a.ts',
  );
  const innocent = await lab.load(FILE, 'b.ts');
  const calls = [() => innocent.call('pid'), () => guilty.call('act', { what: 'use' })];
  const both = [...calls, ...calls, () => guilty.call('act', { what: 'patch' }), () => innocent.call('pid')];
  const pids: unknown[] = [];
  for (const call of both) pids.push(toOutcome(await call()));
  expect(pids.map((pid) => typeof pid)).toEqual(both.map(() => 'number'));
  expect(pids.map((pid) => pid === pids[0])).toEqual([true, true, true, true, true, false]);
});

const startWith = async (TOOLS_ISOLATION: 'shared' | 'own') => {
  const { root } = makeDirectory();
  for (const name of ['a', 'b', 'inside']) {
    const text = toolFile({ [name]: 'return process.pid;' });
    writeFileSync(
      join(root, `${name}.ts`),
      name === 'inside' ? text.replace('effects:', "isolation: 'inline', effects:") : text,
    );
  }
  const variables = { TOOLS_ENV: 'ROOMS_KEY', ROOMS_KEY: 'the-value-of-it', TOOLS_INLINE: 'inside' };
  const service = await startService({ TOOLS_DIR: root, TOOLS_ISOLATION, TOOL_HOSTS_MAX: '4', ...variables });
  onTestFinished(service.stop);
  const told = service.logLines().filter(({ msg }) => msg === 'tool files that share processes');
  const [a, b, inside] = (await service.call(['a', 'b', 'inside'].map((name) => ({ name })))).map(({ value }) => value);
  return { told, isShared: a === b, isInside: inside === process.pid, log: JSON.stringify(service.logLines()) };
};

test('the start log lists the files that share processes, and the names of the variables that they share', async () => {
  const { told, log } = await startWith('shared');
  expect(told).toMatchObject([{ files: ['a.ts', 'b.ts'], count: 2, variables: ['ROOMS_KEY'] }]);
  expect(log).not.toContain('the-value-of-it');
});

test('with TOOLS_ISOLATION=own no two files share a process, and one that may run inside the service does', async () => {
  expect(await startWith('own')).toMatchObject({ told: [], isShared: false, isInside: true });
});
