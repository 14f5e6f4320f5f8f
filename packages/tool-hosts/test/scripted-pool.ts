import type { ToolFile } from 'recourse-server/internal/tools/tool.ts';
import { HostPool } from '#src/host-pool.ts';
import type { PoolMember } from '#src/pool-records.ts';
import { createScriptedHost, type ScriptedHost } from './scripted-host.ts';

export const MAX_HOSTS = 3;

/** A call that waits or runs, and what it heard. */
export type Asked = {
  readonly file: ToolFile;
  readonly isAlone: boolean;
  readonly company: string;
  taken: PoolMember | null;
  ends: number;
  stop: () => void;
  stopped: boolean;
};

/** The pool over hosts that do what they are told, and what must hold at any moment. */
export const openPool = (maxHosts = MAX_HOSTS) => {
  const state = { now: 0, closed: false, loading: 0 };
  const started: ScriptedHost[] = [];
  const asked: Asked[] = [];
  const faults: string[] = [];
  const files: ToolFile[] = [];
  const pool = new HostPool({
    minHosts: 1,
    maxHosts,
    maxCalls: 40,
    now: () => state.now,
    isGranted: () => false,
    isOwn: () => false,
    onEnded: () => undefined,
    onOffence: () => undefined,
    startHost: () => {
      if (state.closed) faults.push('a host was started after the end');
      // A load may go beyond; it does not leave it so.
      if (state.loading === 0 && pool.members.size >= maxHosts) faults.push('more hosts than there may be');
      const scripted = createScriptedHost(started.length + 1);
      started.push(scripted);
      return scripted.host;
    },
  });
  const living = (): readonly ScriptedHost[] => started.filter(({ hasEnded }) => !hasEnded());
  const running = (): readonly Asked[] => asked.filter(({ taken }) => taken !== null);
  const pick = <Item>(items: readonly Item[], at: number): Item | undefined => items[at % Math.max(1, items.length)];
  const take = (call: Asked, member: PoolMember): void => {
    const beside = running().filter(({ taken }) => taken === member);
    call.ends += 1;
    if (call.stopped) faults.push('a call that had stopped waiting got a host');
    if (member.host.isEnding) faults.push('a call got a host that is ending');
    if (beside.some(({ file }) => file !== call.file)) faults.push('calls of two files in one host');
    if (beside.length > 0 && (call.isAlone || beside[0]?.isAlone)) faults.push('a call beside one that runs alone');
    call.taken = member;
  };
  const obtain = (file: ToolFile, isAlone = false, company = ''): Asked => {
    const call: Asked = { file, isAlone, company, taken: null, ends: 0, stopped: false, stop: () => undefined };
    asked.push(call);
    call.stop = pool.acquire(file, {
      isAlone,
      company,
      take: (member) => take(call, member),
      fail: () => {
        call.ends += 1;
      },
    });
    return call;
  };
  const finish = (call: Asked | undefined): void => {
    if (call === undefined || call.taken === null) return;
    const member = call.taken;
    call.taken = null;
    started.find(({ host }) => host === member.host)?.answer();
    pool.release(member, 'answered');
  };
  /** What the test is told of a host's end frees the calls that ran on it. */
  const end = (scripted: ScriptedHost | undefined): void => {
    if (scripted === undefined) return;
    for (const call of asked) if (call.taken?.host === scripted.host) call.taken = null;
    scripted.end();
  };
  const pause = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const load = async (): Promise<ToolFile> => {
    const file = { path: `/t/${files.length}.ts`, root: '/t', sources: new Map() };
    files.push(file);
    state.loading += 1;
    const loaded = pool.load(file);
    state.loading -= 1;
    started.at(-1)?.start();
    await pause();
    started.at(-1)?.load('loaded');
    await loaded;
    return file;
  };
  return { pool, state, started, asked, faults, files, living, running, pick, obtain, finish, end, load, pause };
};

export type ScriptedPool = ReturnType<typeof openPool>;
