import { startAsking } from '../ask-process.ts';
import type { Part } from '../isolation/part.ts';
import { startLoad } from '../measure-load.ts';
import { type Contender, startKeyed, startStores } from './contenders.ts';
import { measureInTurn } from './measure-in-turn.ts';
import { measureLive } from './measure-live.ts';
import { openRedisMemory } from './redis-memory.ts';
import type { SessionsMeasured } from './to-session-sections.ts';

/** Measures what sessions, their journal and keys cost, and what live sessions take in Redis; one after the other. */
export const measureSessions = async (part: Part): Promise<SessionsMeasured> => {
  const { surroundings } = part;
  const { redisServers } = surroundings;
  const measure = startLoad(surroundings);
  const generators = { measure, ask: startAsking('isolation/send-timed.ts', surroundings) };
  const stores = await startStores(surroundings);
  const storeSeries = await measureInTurn(stores, part, generators);
  await endServers(stores);
  await redisServers.stopAll();

  const { url } = await redisServers.start();
  const redis = openRedisMemory(url);
  const keyed = await startKeyed(surroundings, url, redis);
  const keyedSeries = await measureInTurn(keyed, part, generators);
  await endServers(keyed);
  redis.close();
  await redisServers.stopAll();

  const live = await measureLive(part);
  await redisServers.stopAll();
  return { series: [...storeSeries, ...keyedSeries], live };
};

const endServers = async (contenders: readonly Contender[]): Promise<void> => {
  const servers = new Set(contenders.map(({ server }) => server));
  for (const server of servers) await server.process.end();
};
