import type { Define } from './tally.ts';

/** What is told of one lane of queued calls. */
export type LaneSample = { readonly lane: string; readonly waiting: number; readonly oldestWaitingMs: number };

/** Metrics of the queue of pending calls and of the workers of this process. */
export const createJobMetrics = ({ gauge, plainCounter }: Define) => {
  let samples: readonly LaneSample[] = [];
  const running = new Map<string, number>();
  const perLane = (name: string, help: string, read: (sample: LaneSample) => number) =>
    gauge(name, help, ['lane'], (shown) => {
      // While the queue cannot be asked, an old number would look like a new one.
      shown.reset();
      for (const sample of samples) shown.set({ lane: sample.lane }, read(sample));
    });
  perLane('jobs_waiting', 'Queued calls of a lane; every replica shows the same number.', ({ waiting }) => waiting);
  perLane(
    'jobs_oldest_waiting_seconds',
    'Age of the oldest queued call of a lane; every replica shows the same number.',
    ({ oldestWaitingMs }) => oldestWaitingMs / 1000,
  );
  gauge('jobs_running', 'Queued calls of a lane that this process runs now.', ['lane'], (shown) => {
    for (const [lane, count] of running) shown.set({ lane }, count);
  });
  const taken = plainCounter('jobs_taken_total', 'Queued calls of a lane that this process took.', ['lane']);
  const change = (lane: string, by: number): void => void running.set(lane, (running.get(lane) ?? 0) + by);
  return {
    jobs: {
      /** The queue was asked; `[]` where it did not answer. */
      lanesRead: (lanes: readonly LaneSample[]): void => {
        samples = lanes;
      },
      /** This process takes jobs of these lanes from now on. */
      laneServed: (lane: string): void => {
        change(lane, 0);
        taken.inc({ lane }, 0);
      },
      taken: (lane: string): void => {
        change(lane, 1);
        taken.inc({ lane });
      },
      ended: (lane: string): void => change(lane, -1),
      /** All that is known of lanes here; `isServed`: this process takes their jobs. */
      readLanes: () =>
        [...new Set([...samples.map(({ lane }) => lane), ...running.keys()])].map((lane) => ({
          ...{ lane, waiting: 0, oldestWaitingMs: 0, ...samples.find((sample) => sample.lane === lane) },
          running: running.get(lane) ?? 0,
          isServed: running.has(lane),
        })),
    },
  };
};
