/** How the process was doing in one interval, by whoever measures it. */
export type LoadSample = {
  /** By how much the event loop came late, in milliseconds. */
  readonly lagMs: number;
  /** Share of the interval in which the event loop was busy, 0 to 1. */
  readonly utilization: number;
  /** Share of its memory that the process uses, 0 to 1: of the heap or of what the system gives it, whichever is more. */
  readonly memory: number;
};
