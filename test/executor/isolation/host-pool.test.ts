import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { PoolMember } from '#src/executor/isolation/file-hosts.ts';
import { HostPool } from '#src/executor/isolation/host-pool.ts';
import type { ToolFile } from '#src/tools/tool.ts';
import { createScriptedHost, type ScriptedHost } from './scripted-host.ts';

const MAX_HOSTS = 3;

/** A call that waits, and what it heard. */
type Asked = { taken: PoolMember | null; ends: number; readonly stop: () => void; stopped: boolean };

/** The pool over hosts that do what they are told, and what must hold at any moment. */
const openPool = () => {
  const state = { now: 0, closed: false, loading: 0 };
  const started: ScriptedHost[] = [];
  const asked: Asked[] = [];
  const faults: string[] = [];
  const pool = new HostPool({
    minHosts: 1,
    maxHosts: MAX_HOSTS,
    maxCalls: 4,
    now: () => state.now,
    onEnded: () => undefined,
    startHost: (hosts) => {
      if (state.closed) faults.push('a host was started after the end');
      // A load may go beyond; it does not leave it so.
      if (state.loading === 0 && pool.members.size >= MAX_HOSTS) faults.push('more hosts than there may be');
      const scripted = createScriptedHost(hosts, started.length + 1);
      started.push(scripted);
      return scripted.host;
    },
  });
  const files: ToolFile[] = [];
  const living = (): readonly ScriptedHost[] => started.filter(({ hasEnded }) => !hasEnded());
  const running = (): readonly Asked[] => asked.filter(({ taken }) => taken !== null);
  const pick = <Item>(items: readonly Item[], at: number): Item | undefined => items[at % Math.max(1, items.length)];
  const take = (call: Asked, member: PoolMember): void => {
    call.ends += 1;
    if (call.stopped) faults.push('a call that had stopped waiting got a host');
    if (running().some(({ taken }) => taken === member)) faults.push('two calls on one host');
    if (member.host.isEnding()) faults.push('a call got a host that is ending');
    call.taken = member;
  };
  const obtain = (file: ToolFile): void => {
    const call: Asked = { taken: null, ends: 0, stopped: false, stop: () => stop() };
    asked.push(call);
    const stop = pool.obtain(file, {
      take: (member) => take(call, member),
      fail: () => {
        call.ends += 1;
      },
    });
  };
  const finish = (call: Asked | undefined): void => {
    if (call === undefined || call.taken === null) return;
    const member = call.taken;
    call.taken = null;
    started.find(({ host }) => host === member.host)?.answer();
    pool.giveBack(member);
  };
  /** What the test is told of a host's end frees the call that ran on it. */
  const end = (scripted: ScriptedHost | undefined): void => {
    if (scripted === undefined) return;
    for (const call of asked) if (call.taken?.host === scripted.host) call.taken = null;
    scripted.end();
  };
  const load = async (): Promise<void> => {
    const file = { path: `/t/${files.length}.ts`, root: '/t', sources: new Map() };
    files.push(file);
    state.loading += 1;
    const loaded = pool.load(file);
    state.loading -= 1;
    started.at(-1)?.load('loaded');
    await loaded;
  };
  return { pool, state, started, asked, faults, files, living, running, pick, obtain, finish, end, load };
};

type Lab = ReturnType<typeof openPool>;
type Step = readonly [what: string, at: number];

const STEPS: Readonly<Record<string, (lab: Lab, at: number) => unknown>> = {
  obtain: ({ files, pick, obtain }, at) => {
    const file = pick(files, at);
    if (file !== undefined) obtain(file);
  },
  stop: ({ asked, pick }, at) => {
    const waiting = pick(
      asked.filter(({ ends, stopped }) => ends === 0 && !stopped),
      at,
    );
    if (waiting === undefined) return;
    waiting.stopped = true;
    waiting.stop();
  },
  finish: ({ running, pick, finish }, at) => finish(pick(running(), at)),
  load: ({ living, pick }, at) => pick(living(), at)?.load('loaded'),
  fail: ({ living, pick }, at) => pick(living(), at)?.load('failed'),
  end: ({ living, pick, end }, at) => end(pick(living(), at)),
  reap: ({ living, end }) => {
    for (const scripted of living()) if (scripted.host.isEnding()) end(scripted);
  },
  wait: ({ state }, at) => {
    state.now += at * 50;
  },
  tidy: ({ pool }) => pool.tidy(),
  retire: ({ pool, files, pick }, at) => {
    const file = pick(files, at);
    if (file !== undefined && files.length > 1) pool.retire(file);
  },
  file: ({ files, load }) => (files.length < 5 ? load() : undefined),
};

const pause = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Everything that is under way comes to its end, as it does in time. */
const bringToRest = async ({ living, running, finish, end, state, pool }: Lab): Promise<void> => {
  for (let round = 0; round < 60; round += 1) {
    for (const scripted of living()) scripted.load('loaded');
    await pause();
    for (const call of running()) finish(call);
    for (const scripted of living()) if (scripted.host.isEnding()) end(scripted);
    await pause();
    state.now += 1000;
    pool.tidy();
  }
};

const step = fc.tuple(fc.constantFrom('obtain', 'obtain', 'obtain', ...Object.keys(STEPS)), fc.nat(40));

const play = async (steps: readonly Step[]): Promise<Lab> => {
  const lab = openPool();
  await lab.load();
  await lab.load();
  for (const [what, at] of steps) {
    await STEPS[what]?.(lab, at);
    await pause();
  }
  return lab;
};

test('whatever happens, every call that waits is told once: a host of its own, or why there is none', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const lab = await play(steps);
      await bringToRest(lab);
      const ends = lab.asked.filter(({ stopped }) => !stopped).map((call) => call.ends);
      expect(ends.filter((count) => count !== 1)).toEqual([]);
      expect(lab.asked.filter(({ stopped, ends: count }) => stopped && count > 0)).toEqual([]);
      expect(lab.faults).toEqual([]);
      expect(lab.pool.members.size).toBeLessThanOrEqual(MAX_HOSTS);
    }),
    { numRuns: 200 },
  );
});

test('whatever happened before, after the end all processes are killed, none starts and nobody is left waiting', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const lab = await play(steps);
      lab.state.closed = true;
      lab.pool.killAll();
      const empty = lab.pool.whenEmpty();
      expect(lab.living().filter(({ host }) => !host.isEnding())).toEqual([]);
      await bringToRest(lab);
      await empty;
      expect(lab.pool.members.size).toBe(0);
      expect(lab.faults).toEqual([]);
      expect(lab.asked.filter(({ stopped, ends }) => !stopped && ends !== 1)).toEqual([]);
    }),
    { numRuns: 100 },
  );
});

test('a call that finds the pool full gets a host as soon as another file leaves one idle, without waiting for time to pass', async () => {
  const lab = openPool();
  const { files, obtain, asked, living, running, finish, end, faults } = lab;
  await lab.load();
  await lab.load();
  const [a, b] = files;
  if (a === undefined || b === undefined) throw new Error('There are no files.');
  const goOn = async (): Promise<void> => {
    for (const scripted of living()) {
      if (scripted.host.isEnding()) end(scripted);
      else scripted.load('loaded');
    }
    await pause();
  };
  for (let n = 0; n < 3; n += 1) obtain(a);
  for (let n = 0; n < 4; n += 1) await goOn();
  expect(running()).toHaveLength(3);
  obtain(b);
  for (let n = 0; n < 4; n += 1) await goOn();
  expect(asked[3]?.ends).toBe(0);
  finish(asked[0]);
  for (let n = 0; n < 4; n += 1) await goOn();
  expect(asked[3]?.taken?.hosts.file).toBe(b);
  // One made way, and no more than that.
  expect(running()).toHaveLength(3);
  expect(faults).toEqual([]);
});
