import type { FileHosts } from '#src/isolation/file-hosts.ts';
import type { Death, KillReason } from '#src/isolation/isolation-observer.ts';
import type { ToolHost } from '#src/isolation/tool-host.ts';

/** A tool host without a process: loads, answers and ends when the test says so. */
export type ScriptedHost = {
  readonly host: ToolHost;
  readonly hosts: FileHosts;
  readonly load: (kind: 'loaded' | 'failed') => void;
  readonly answer: () => void;
  readonly end: () => void;
  readonly hasEnded: () => boolean;
};

export const createScriptedHost = (hosts: FileHosts, pid: number): ScriptedHost => {
  const loaded = Promise.withResolvers<Awaited<ToolHost['loaded']>>();
  const ended = Promise.withResolvers<Death>();
  const state: { killedFor: KillReason | null; ended: boolean; answered: number } = {
    killedFor: null,
    ended: false,
    answered: 0,
  };
  return {
    hosts,
    load: (kind) =>
      loaded.resolve(kind === 'loaded' ? { kind, tools: [], imported: [hosts.file.path] } : { kind, reason: 'no' }),
    answer: () => {
      state.answered += 1;
    },
    end: () => {
      state.ended = true;
      const signal = state.killedFor === null ? null : 'SIGKILL';
      loaded.resolve({ kind: 'failed', reason: 'ended' });
      ended.resolve({ pid, exitCode: 1, signal, killedFor: state.killedFor, lastLines: [] });
    },
    hasEnded: () => state.ended,
    host: {
      pid,
      loaded: loaded.promise,
      run: () => Promise.reject(new Error('Calls are not run in scripted hosts.')),
      abort: () => undefined,
      kill: (reason) => {
        state.killedFor ??= reason;
      },
      ended: ended.promise,
      isEnding: () => state.ended || state.killedFor !== null,
      isSpent: () => false,
      answered: () => state.answered,
    },
  };
};
