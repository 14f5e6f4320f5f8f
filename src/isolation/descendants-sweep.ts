import { readdir, readFile } from 'node:fs/promises';
import { HOST_MARK } from './host-environment.ts';
import { endProcess } from './process-control.ts';

export type DescendantsSweep = {
  /** This host has ended: whatever still carries its mark must end, too. */
  readonly add: (mark: string) => void;
  /** Resolves when everything added so far has been swept. */
  readonly whenSwept: () => Promise<void>;
};

/**
 * Ends what a host left behind outside of its process group (a child started with `detached`, or by `setsid`): such a
 * process still carries the host's mark in its environment. One walk through /proc serves all hosts that ended
 * meanwhile. What a tool started with an environment of its own making escapes.
 */
export const createDescendantsSweep = (): DescendantsSweep => {
  let marks = new Set<string>();
  let sweeping: Promise<void> | null = null;
  const sweepAll = async (): Promise<void> => {
    while (marks.size > 0) {
      const current = marks;
      marks = new Set();
      await sweep(current);
    }
    sweeping = null;
  };
  return {
    add: (mark) => {
      marks.add(mark);
      sweeping ??= sweepAll();
    },
    whenSwept: () => sweeping ?? Promise.resolve(),
  };
};

const sweep = async (marks: ReadonlySet<string>): Promise<void> => {
  const entries = await readdir('/proc').catch(() => []);
  for (const entry of entries) {
    if (!/^\d+$/.test(entry) || Number(entry) === process.pid) continue;
    const environment = await readFile(`/proc/${entry}/environ`, 'latin1').catch(() => '');
    const at = environment.indexOf(`${HOST_MARK}=`);
    if (at === -1 || !marks.has(environment.slice(at + HOST_MARK.length + 1).split('\0', 1)[0] ?? '')) continue;
    endProcess(Number(entry));
  }
};
