import { type AskProcess, startAsking } from '../ask-process.ts';
import type { Part } from '../part.ts';
import { type Server, startService } from '../servers.ts';
import { summarise } from '../summarise.ts';
import { PROFILE_PLANS, PROFILES, type Profile } from './profiles.ts';
import { openRedisMemory, type RedisMemory } from './redis-memory.ts';
import { type SessionPlan, SessionsMade } from './session-plan.ts';

/** What sessions of one profile cost in Redis, in bytes. */
export type ProfileCost = {
  readonly profile: Profile;
  /** Those that were in Redis in the end: as many as were made, unless it was away meanwhile. */
  readonly sessions: number;
  readonly asked: number;
  /** By which used_memory grew, for one session. */
  readonly bytes: number;
  /** Medians of a sample. */
  readonly hashBytes: number;
  readonly journalBytes: number;
  readonly journalLines: number;
};

export type Live = { readonly redis: string; readonly costs: readonly ProfileCost[] };

const WARMING = 10;
// Fewer than elsewhere: what is wanted is that every round comes to Redis, not that it comes soon.
const CONNECTIONS = 8;
const SESSIONS = 10_000;
// A journal of 200 calls takes a hundred times what a clean session does.
const FULL_JOURNALS = 1000;
/** Time for one batch on a machine that does a lot besides. */
const SECONDS_PER_BATCH = 0.01;

type Place = { readonly server: Server; readonly redis: RedisMemory };

/** Fills Redis with sessions, made through the service, and says what they cost. */
export const measureLive = async (part: Part): Promise<Live> => {
  const { surroundings, progress } = part;
  const makeSessions = startAsking('sessions/send-sessions.ts', surroundings);
  const place = await openPlace(part);
  const costs: ProfileCost[] = [];
  for (const profile of PROFILES) {
    const sessions = profile === 'full_journal' ? FULL_JOURNALS : SESSIONS;
    costs.push(await measureCost(profile, sessions, place, makeSessions));
    progress(`${sessions} live sessions, ${profile}: ${costs.at(-1)?.bytes.toFixed(0)} bytes each`);
  }
  const redis = await place.redis.describe();
  await place.server.process.end();
  place.redis.close();
  return { redis, costs };
};

const openPlace = async ({ surroundings }: Part): Promise<Place> => {
  const { url } = await surroundings.redisServers.start();
  return { server: await startService(surroundings, { redisUrl: url }), redis: openRedisMemory(url) };
};

const make = async (profile: Profile, sessions: number, { server }: Place, ask: AskProcess): Promise<void> => {
  const { rounds, failures } = PROFILE_PLANS[profile];
  const plan: SessionPlan = { url: server.url, profile, sessions, connections: Math.min(CONNECTIONS, sessions) };
  const made = SessionsMade.parse(await ask([server], plan, sessions * rounds * SECONDS_PER_BATCH));
  if (made.batches !== sessions * rounds || made.failedCalls !== sessions * failures)
    throw new Error(
      `${sessions} sessions of ${profile} came to ${made.batches} batches, ${made.failedCalls} failures.`,
    );
};

const measureCost = async (
  profile: Profile,
  asked: number,
  place: Place,
  makeSessions: AskProcess,
): Promise<ProfileCost> => {
  const { redis } = place;
  // Connections and scripts are there before it begins to count.
  await make(profile, WARMING, place, makeSessions);
  await redis.empty();
  const before = await redis.usedBytes();
  await make(profile, asked, place, makeSessions);
  const sessions = await redis.countSessions();
  const bytes = ((await redis.usedBytes()) - before) / sessions;
  const sample = await redis.sampleSessions();
  return {
    profile,
    sessions,
    asked,
    bytes,
    hashBytes: summarise(sample.map(({ hash }) => hash)).median,
    journalBytes: summarise(sample.map(({ journal }) => journal)).median,
    journalLines: summarise(sample.map(({ lines }) => lines)).median,
  };
};
