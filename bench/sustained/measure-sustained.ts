import { startAsking } from '../ask-process.ts';
import { type Memory, watchMemory } from '../memory-watch.ts';
import { offerLoad, type Stretch, showStretch } from '../paced/offer-load.ts';
import type { Part } from '../part.ts';
import { type Server, startService } from '../servers.ts';
import { toMix } from './mix.ts';

/** One stretch, at a share of the limit, and what the service held meanwhile. */
export type Level = Stretch & { readonly share: number; readonly memory: Memory };

export type Sustained = {
  /** Most batches in a second, found with a closed loop. */
  readonly limitPerSecond: number;
  readonly levels: readonly Level[];
};

const SHARES = [0.7, 1] as const;
export const CONNECTIONS = 1000;
const LIMIT_SHARE = 0.1;
const LIMIT_LEAST_SECONDS = 5;
// More than can be sent.
const NO_RATE = 1_000_000;
const LAST_ANSWERS_MS = 10_000;

/** Finds the most that one replica on Redis answers of mixed batches, and then offers shares of that for minutes, on a clock. */
export const measureSustained = async (part: Part): Promise<Sustained> => {
  const { surroundings, options, progress } = part;
  const ask = startAsking('paced/send-paced.ts', surroundings);
  const { url: redisUrl } = await surroundings.redisServers.start();
  // As by default, unlike elsewhere: what a service refuses under load is part of what is asked.
  const service = await startService(surroundings, { redisUrl, settings: { MAX_EVENT_LOOP_LAG_MS: '250' } });
  const limitSeconds = Math.max(LIMIT_LEAST_SECONDS, options.seconds * LIMIT_SHARE);
  const closed = { ...toPlan(service), ratePerSecond: NO_RATE, seconds: limitSeconds };
  progress(`warm-up: ${showStretch(await offerLoad(ask, service, closed))}`);
  const { result } = await offerLoad(ask, service, closed);
  const limitPerSecond = result.answeredInTime / limitSeconds;
  progress(`limit: ${limitPerSecond.toFixed(0)}/s`);
  const levels: Level[] = [];
  for (const share of SHARES) {
    const plan = { ...toPlan(service), ratePerSecond: limitPerSecond * share, seconds: options.seconds };
    const watch = watchMemory(service);
    const stretch = await offerLoad(ask, service, plan).finally(watch.stop);
    progress(`${share} of the limit: ${showStretch(stretch)}`);
    levels.push({ ...stretch, share, memory: watch.toMemory() });
  }
  await service.process.end();
  await surroundings.redisServers.stopAll();
  return { limitPerSecond, levels };
};

const toPlan = ({ url, process: { pid } }: Server) => ({
  url,
  loads: toMix(url, pid),
  connections: CONNECTIONS,
  lastMs: LAST_ANSWERS_MS,
});
