import type { Death } from './isolation-observer.ts';
import type { HostProcess } from './launch-host.ts';
import { createOutputTail } from './output-tail.ts';
import { endProcess } from './process-control.ts';
import type { Blame, RunningCall } from './running-call.ts';

// What a process wrote last may be read after it has ended; a grandchild may hold its pipes open for ever.
export const LAST_WORDS_MS = 50;

/** Reads what a host writes; gives its last lines. */
export const watchOutput = (
  host: HostProcess,
  onLine: (stream: 'stdout' | 'stderr', line: string) => void,
  kill: (reason: 'flood') => void,
) => {
  const onFlood = (): void => kill('flood');
  const stdout = createOutputTail(host.stdout, { onLine: (line) => onLine('stdout', line), onFlood });
  const stderr = createOutputTail(host.stderr, { onLine: (line) => onLine('stderr', line), onFlood });
  return {
    lines: stderr.lines,
    reset: (): void => {
      stdout.reset();
      stderr.reset();
    },
    renew: (): void => {
      stdout.renew();
      stderr.renew();
    },
  };
};

/** How a process ended. */
export const whenEnded = (
  { child, pid, ...streams }: HostProcess,
  circumstances: () => Omit<Death, 'pid' | 'exitCode' | 'signal'>,
): Promise<Death> =>
  new Promise((resolve) => {
    child.once('exit', (exitCode, signal) => {
      // Whatever it started in its process group ends with it.
      endProcess(-pid);
      const tell = (): void => {
        clearTimeout(timer);
        for (const stream of Object.values(streams)) stream.destroy();
        resolve({ pid, exitCode, signal, ...circumstances() });
      };
      // Where this process was held up meanwhile, the last words are there and have not been read: that comes before immediates.
      const timer = setTimeout(() => setImmediate(tell), LAST_WORDS_MS);
      child.once('close', tell);
    });
  });

/** Whether a host's death is the work of this call; `leaver`: the nonce of the call whose code said that it ends the process. */
export const toBlame = (call: RunningCall, calls: Iterable<RunningCall>, leaver: string | null): Blame => {
  const begun = [...calls].filter(({ began }) => began);
  const guilty = findGuilty(begun, leaver);
  if (guilty === null) return 'unknown';
  return guilty.includes(call) ? 'this' : 'other';
};

/** The calls that ended the process; null where it is not known. */
const findGuilty = (begun: readonly RunningCall[], leaver: string | null): readonly RunningCall[] | null => {
  const overdue = begun.filter(({ isOverdue }) => isOverdue);
  if (overdue.length > 0) return overdue;
  if (leaver !== null) return begun.filter(({ nonce }) => nonce === leaver);
  return begun.length === 1 ? begun : null;
};
