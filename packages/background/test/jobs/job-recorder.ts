import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, vi } from 'vitest';
import type { Job, JobEnd } from '#src/jobs/job-queue.ts';

/** Generous: what is awaited comes within milliseconds, on a busy machine within a second. */
export const SOON = { timeout: timeLimit(15_000), interval: 5 };

/** What a worker of a test runs: each job is noted, and ends when the test says so. */
export type JobRecorder = {
  readonly run: (job: Job) => Promise<JobEnd>;
  /** The calls in the order in which they were started, each as often as it was. */
  readonly started: readonly string[];
  /** How many ran at once in a lane, at the most. */
  readonly most: (lane: string) => number;
  /** Ends the oldest of this call's runs. */
  readonly end: (call: string, end?: JobEnd) => void;
  readonly untilStarted: (count: number) => Promise<void>;
  readonly running: () => number;
  readonly whenIdle: () => Promise<void>;
};

type Running = { readonly job: Job; readonly resolve: (end: JobEnd) => void };

/** `hold` ends what `end` names; `pass` ends each job in the next turn of the event loop. */
export const recordJobs = (mode: 'hold' | 'pass' = 'hold'): JobRecorder => {
  const started: string[] = [];
  const running: Running[] = [];
  const most = new Map<string, number>();
  const run = (job: Job): Promise<JobEnd> =>
    new Promise((resolve) => {
      started.push(job.call);
      const entry = {
        job,
        resolve: (end: JobEnd): void => {
          running.splice(running.indexOf(entry), 1);
          resolve(end);
        },
      };
      running.push(entry);
      const now = running.filter((other) => other.job.lane === job.lane).length;
      most.set(job.lane, Math.max(now, most.get(job.lane) ?? 0));
      if (mode === 'pass') setImmediate(() => entry.resolve({ kind: 'done' }));
    });
  return {
    run,
    started,
    most: (lane) => most.get(lane) ?? 0,
    end: (call, end = { kind: 'done' }) => {
      const entry = running.find(({ job }) => job.call === call);
      if (entry === undefined) throw new Error(`${call} does not run.`);
      entry.resolve(end);
    },
    running: () => running.length,
    whenIdle: () => vi.waitFor(() => expect(running).toHaveLength(0), SOON),
    untilStarted: (count) =>
      vi.waitFor(() => {
        if (started.length < count) throw new Error(`${started.length} of ${count} jobs were started: ${started}`);
      }, SOON),
  };
};
