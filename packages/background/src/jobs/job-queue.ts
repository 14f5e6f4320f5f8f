/** Points at a pending call; everything else is in its record. */
export type Job = {
  /** The handle of the call, `c_` and 22 characters of base64url. */
  readonly call: string;
  readonly tenant: string;
  readonly lane: string;
};

/**
 * What becomes of a job that was taken. `done`: it is acknowledged and forgotten. `later`: it is offered again after so
 * many milliseconds, before those that no worker has had; a worker that stops gives back a safe call with it.
 */
export type JobEnd = { readonly kind: 'done' } | { readonly kind: 'later'; readonly afterMs: number };

/**
 * How many jobs of a lane wait for a worker, and for how many milliseconds the one that waits longest does; 0 where none
 * waits. A job that comes again later waits from then on.
 */
export type LaneState = { readonly lane: string; readonly waiting: number; readonly oldestWaitingMs: number };

/** A lane that a worker serves, and how many of its jobs run at once in this process. */
export type ServedLane = { readonly lane: string; readonly concurrency: number };

/**
 * Offers jobs to workers, at least once each: it may offer one again that has run, and the record of the call decides
 * whether it runs again. Tenants of a lane take turns, whatever each has waiting.
 */
export type JobQueue = {
  /**
   * Adds the job, once however often the same call is offered until it is done. Rejects within about a second where the
   * store is away; the job may have been added then.
   */
  readonly offer: (job: Job) => Promise<void>;
  /**
   * The same of a job that, by the record of its call, no worker has: one that has it according to the queue has died, or was cut off,
   * and loses it. The job is next in its lane then.
   */
  readonly offerAgain: (job: Job) => Promise<void>;
  /**
   * Takes jobs of these lanes until stopped. `run` never rejects. A job that a dead process had is offered again by the
   * queue as well, some day.
   */
  readonly take: (lanes: readonly ServedLane[], run: (job: Job) => Promise<JobEnd>) => Taking;
  /** Removes a job that no worker has taken. Best effort: a job that is not there is no mistake. Rejects as `offer` does. */
  readonly cancel: (job: Job) => Promise<void>;
  /** The state of each lane that the queue knows. Rejects where the store is away. */
  readonly lanes: () => Promise<readonly LaneState[]>;
  /** Stops all takings, waits for what they run, and disconnects. */
  readonly close: () => Promise<void>;
};

/** A worker at its work. */
export type Taking = {
  /** Takes no more jobs; what runs goes on. */
  readonly stop: () => void;
  /**
   * When, by `performance.now()`, it last asked the queue for a job of each lane that has room for one. Now where no lane
   * has: a worker that is busy need not ask.
   */
  readonly lastFetchAt: () => number;
};
