import type { Death, KillReason } from '#src/classify-death.ts';
import type { PendingWork } from '#src/host-messages.ts';
import type { ToolHost } from '#src/hosted-process.ts';
import type { HostLoad } from '#src/tool-host.ts';

/** A tool host without a process: starts, loads, answers and ends when the test says so. */
export type ScriptedHost = {
  readonly host: ToolHost;
  readonly start: () => void;
  /** Ends the loads that wait. */
  readonly load: (kind: 'loaded' | 'failed' | 'refused') => void;
  readonly answer: () => void;
  readonly makeUnusable: () => void;
  /** Something of the file of this version goes on in it. */
  readonly setPendingWork: (version: string | null) => void;
  readonly end: () => void;
  readonly hasEnded: () => boolean;
};

const LOADS = {
  loaded: { kind: 'loaded', tools: [], imported: [], unexported: [], lookalikes: [], trace: null },
  failed: { kind: 'failed', reason: 'no', thrown: null },
  refused: { kind: 'refused' },
} as const;

export const createScriptedHost = (pid: number): ScriptedHost => {
  const ready = Promise.withResolvers<string | null>();
  const ended = Promise.withResolvers<Death>();
  const loads: ((load: HostLoad) => void)[] = [];
  const state: {
    killedFor: KillReason | null;
    pendingWork: PendingWork | null;
    ended: boolean;
    spent: boolean;
    answered: number;
  } = {
    killedFor: null,
    pendingWork: null,
    ended: false,
    spent: false,
    answered: 0,
  };
  let listener = (): void => undefined;
  const settleLoads = (load: HostLoad): void => {
    for (const settle of loads.splice(0)) settle(load);
  };
  return {
    start: () => ready.resolve(null),
    load: (kind) => settleLoads(LOADS[kind]),
    answer: () => {
      state.answered += 1;
    },
    makeUnusable: () => {
      state.spent = true;
      listener();
    },
    setPendingWork: (version) => {
      state.pendingWork = version === null ? null : { version, reason: 'Timeout' };
      listener();
    },
    end: () => {
      state.ended = true;
      const signal = state.killedFor === null ? null : 'SIGKILL';
      ready.resolve('ended');
      settleLoads({ kind: 'broken', reason: 'ended' });
      ended.resolve({ pid, exitCode: 1, signal, killedFor: state.killedFor, lastLines: [], leaver: null });
    },
    hasEnded: () => state.ended,
    host: {
      pid,
      unusableFor: '',
      ready: ready.promise,
      load: () => new Promise((resolve) => void loads.push(resolve)),
      unload: () => undefined,
      run: () => {
        throw new Error('Calls are not run in scripted hosts.');
      },
      calls: new Set(),
      abort: () => undefined,
      ping: () => undefined,
      leave: () => undefined,
      heardAt: 0,
      kill: (reason) => {
        state.killedFor ??= reason;
      },
      ended: ended.promise,
      get isEnding() {
        return state.ended || state.killedFor !== null;
      },
      get isUnusable() {
        return state.spent;
      },
      culprit: null,
      get pendingWork() {
        return state.pendingWork;
      },
      get answered() {
        return state.answered;
      },
      onState: (next) => {
        listener = next;
      },
    },
  };
};
