import type { Cores } from '../cores.ts';
import type { Server, Surroundings } from '../servers.ts';
import { type ListeningScript, startListening } from '../start-listening.ts';

type QueuedTerms = {
  readonly role: 'all' | 'api' | 'worker';
  readonly place: keyof Extract<Cores, { pinned: true }> & ListeningScript['place'];
  /** Left out: pending calls are kept in the process. */
  readonly redisUrl?: string;
  readonly settings?: Readonly<Record<string, string>>;
};

/** Calls that one worker runs at once. */
export const CONCURRENCY = 20;

// One caller makes all calls of the bench; with keys of their own callers share MAX_PENDING.
const SETTINGS = {
  MAX_EVENT_LOOP_LAG_MS: '60000',
  KEY_MAX_PENDING: '20000',
  WORKER_CONCURRENCY: String(CONCURRENCY),
};

/** Starts the service with the background tool of the bench; its metrics are kept, its log goes nowhere. */
export const startQueued = (
  surroundings: Surroundings,
  { role, place, redisUrl, settings = {} }: QueuedTerms,
): Promise<Server> =>
  startListening(surroundings, {
    script: 'pending/service.ts',
    place,
    path: '/tool-calls',
    environment: {
      ...SETTINGS,
      ...(redisUrl === undefined ? {} : { REDIS_URL: redisUrl }),
      ...settings,
      ROLE: role,
    },
  });
