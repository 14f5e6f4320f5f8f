import { writeFileSync } from 'node:fs';
import { type LabFile, openLab, toOutcome, toolFile } from '@recourse/test-support/isolation-lab.ts';
import { expect, test } from 'vitest';
import { HostedFile } from '#src/pool-records.ts';
import { SourceSet } from '#src/tool-host.ts';

const FILE = toolFile({
  leave: 'process.exit(3);',
  fine: "return 'fine';",
  hold: "await wait(input.ms); return 'held';",
});

/** A pool whose clock stands still until it is moved. */
const openTimedLab = async (settings: { readonly maxHosts?: number } = {}) => {
  let moment = 1000;
  const lab = openLab({ now: () => moment, maxHosts: 4, ...settings });
  const file = await lab.load(FILE);
  return {
    ...lab,
    file,
    call: (tool: string): Promise<unknown> => file.call(tool).then(toOutcome),
    pass: (ms: number): void => {
      moment += ms;
    },
  };
};

const crashTimes = async (call: LabFile['call'], times: number): Promise<void> => {
  for (let n = 0; n < times; n += 1)
    expect(toOutcome(await call('leave'))).toEqual({ code: 'tool_crashed', executed: 'maybe', retryAfterMs: null });
};

const refused = (retryAfterMs: number) => ({ code: 'tool_crashed', executed: 'no', retryAfterMs });

test('five deaths in a row cost nothing; from the sixth on each doubles the pause before the next start', async () => {
  const { file, call, pass } = await openTimedLab();
  await crashTimes(file.call, 6);
  for (const pauseMs of [100, 200, 400, 800]) {
    expect(await call('fine')).toEqual(refused(pauseMs));
    pass(pauseMs - 1);
    expect(await call('fine')).toEqual(refused(1));
    pass(1);
    await crashTimes(file.call, 1);
  }
  expect(await call('fine')).toEqual(refused(1600));
});

test('an answer ends the pauses: the next death is the first again', async () => {
  const { file, call, pass } = await openTimedLab();
  await crashTimes(file.call, 6);
  pass(100);
  expect(await call('fine')).toBe('fine');
  await crashTimes(file.call, 5);
  expect(await call('fine')).toBe('fine');
});

test('no pause is longer than 30 s, however often it has ended', () => {
  const hosts = new HostedFile({ path: '/t/a.ts', root: '/t', sources: new Map() }, '1', new SourceSet('all', []), []);
  const pauses = Array.from({ length: 2000 }, () => {
    hosts.noteTrouble(1000);
    return Math.max(0, hosts.restartAt - 1000);
  });
  expect(pauses.slice(0, 16)).toEqual([
    0, 0, 0, 0, 0, 100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000,
  ]);
  expect(Math.max(...pauses)).toBe(30_000);
});

test('a call that waits when the pause begins is told when to come back', async () => {
  const { file, call } = await openTimedLab({ maxHosts: 1 });
  await crashTimes(file.call, 5);
  const last = call('leave');
  const waiting = call('fine');
  expect(await last).toMatchObject({ executed: 'maybe' });
  expect(await waiting).toEqual(refused(100));
});

test('another file goes on while one pauses', async () => {
  const { file, call, load } = await openTimedLab();
  const other = await load(toolFile({ well: "return 'well';" }), 'other.ts');
  await crashTimes(file.call, 6);
  expect(await call('fine')).toEqual(refused(100));
  expect(toOutcome(await other.call('well'))).toBe('well');
});

test('a file that loads no more pauses as well, and says that its process does not start', async () => {
  const { load, processes } = await openTimedLab();
  const text = `${toolFile({ fine: "return 'fine';" })}
    if (existsSync(import.meta.dirname + '/broken')) throw new Error('no licence');`;
  const { call, file } = await load(text, 'licensed.ts');
  expect(toOutcome(await call('fine'))).toBe('fine');
  writeFileSync(`${file.root}/broken`, '');
  for (const pid of processes.hosts()) process.kill(pid, 'SIGKILL');
  const outcomes: unknown[] = [];
  for (let n = 0; n < 7; n += 1) outcomes.push(toOutcome(await call('fine')));
  expect(outcomes[0]).toEqual({ code: 'tool_crashed', executed: 'no', retryAfterMs: null });
  expect(outcomes.at(-1)).toMatchObject({ code: 'tool_crashed', executed: 'no' });
  expect(outcomes.filter((outcome) => JSON.stringify(outcome).includes('"retryAfterMs":null'))).not.toHaveLength(7);
});
