import type { PoolMember } from '#src/isolation/file-hosts.ts';
import { HostPool } from '#src/isolation/host-pool.ts';
import type { ToolFile } from '#src/tools/tool.ts';
import { createScriptedHost, type ScriptedHost } from './scripted-host.ts';

export const MAX_HOSTS = 3;

/** A call that waits, and what it heard. */
type Asked = { taken: PoolMember | null; ends: number; readonly stop: () => void; stopped: boolean };

/** The pool over hosts that do what they are told, and what must hold at any moment. */
export const openPool = (maxHosts = MAX_HOSTS) => {
  const state = { now: 0, closed: false, loading: 0 };
  const started: ScriptedHost[] = [];
  const asked: Asked[] = [];
  const faults: string[] = [];
  const pool = new HostPool({
    minHosts: 1,
    maxHosts,
    maxCalls: 4,
    now: () => state.now,
    onEnded: () => undefined,
    startHost: (hosts) => {
      if (state.closed) faults.push('a host was started after the end');
      // A load may go beyond; it does not leave it so.
      if (state.loading === 0 && pool.members.size >= maxHosts) faults.push('more hosts than there may be');
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

export type ScriptedPool = ReturnType<typeof openPool>;
