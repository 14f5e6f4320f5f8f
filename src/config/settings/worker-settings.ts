import { listOf, MAX_TIMER_MS, oneOf, optionalWhole, whole } from '../../extensions/setting-kinds.ts';
import { LANE_NAME } from './lanes.ts';

/** Where queued calls run, how many at once, and how long a process that stops waits for them. */
export const WORKER_SETTINGS = {
  ROLE: oneOf(['all', 'api', 'worker'])
    .default('all')
    .describe(
      'What this process does: answer requests (api), run queued calls (worker), or both (all). api and worker need REDIS_URL.',
    ),
  WORKER_LANES: listOf(LANE_NAME, 'must be a comma-separated list of lanes').describe(
    'Comma-separated lanes whose calls this process runs. Unset: all.',
  ),
  WORKER_CONCURRENCY: whole(16, 1, 10_000).describe(
    'Queued calls that run at once in a lane without its own `concurrency`. From 2 on, the last slot is kept for a tenant that has nothing running in the lane.',
  ),
  WORKER_GRACE_MS: optionalWhole(0, MAX_TIMER_MS).describe(
    'Milliseconds that queued writes get after SIGTERM. Unset: SHUTDOWN_GRACE_MS.',
  ),
} as const;
