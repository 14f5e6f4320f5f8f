import { type Server, type Surroundings, startService } from '../servers.ts';

/**
 * Starts the service with a limit for the lag of its event loop that is never reached. Where other work has its core, it
 * would answer 503 because of what is not measured here.
 */
export const startPatientService = (
  surroundings: Surroundings,
  redisUrl: string | null,
  settings: Readonly<Record<string, string>> = {},
): Promise<Server> => startService(surroundings, redisUrl, { ...settings, MAX_EVENT_LOOP_LAG_MS: '60000' });
