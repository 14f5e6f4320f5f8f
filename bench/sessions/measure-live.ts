import { type AskProcess, startAsking } from '../ask-process.ts';
import type { Part } from '../isolation/part.ts';
import { Timing, type TimingRequest } from '../isolation/timing-plan.ts';
import type { Server } from '../servers.ts';
import { summarise } from '../summarise.ts';
import { startPatientService } from './patient-service.ts';
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

/** Batches of one call, one at a time, round by round: of few live sessions and of many. */
export type LiveTiming = { readonly few: Timing; readonly many: Timing };

export type Live = {
  readonly redis: string;
  readonly costs: readonly ProfileCost[];
  readonly few: number;
  readonly many: number;
  readonly rounds: readonly LiveTiming[];
};

const FEW = 10;
// Fewer than elsewhere: what is wanted is that every round comes to Redis, not that it comes soon.
const CONNECTIONS = 8;
const MANY = 10_000;
/** Fewer than ten thousand where runs are shorter than three seconds. */
const MANY_PER_SECOND = 4000;
// A journal of 200 calls takes a hundred times what a clean session does.
const SHARE_OF_FULL_JOURNALS = 1 / 10;
const SHARE_OF_SECONDS = 1 / 3;
/** Time for one batch on a machine that does a lot besides. */
const SECONDS_PER_BATCH = 0.01;

type Place = { readonly server: Server; readonly redis: RedisMemory };

/** Fills Redis with sessions, made through the service; says what they cost, and whether a batch takes longer then. */
export const measureLive = async (part: Part): Promise<Live> => {
  const { options, surroundings, progress } = part;
  const makeSessions = startAsking('sessions/send-sessions.ts', surroundings);
  const ask = startAsking('isolation/send-timed.ts', surroundings);
  const many = Math.min(MANY, options.seconds * MANY_PER_SECOND);
  const place = await openPlace(part);
  const costs: ProfileCost[] = [];
  for (const profile of PROFILES) {
    const sessions = profile === 'full_journal' ? many * SHARE_OF_FULL_JOURNALS : many;
    costs.push(await measureCost(profile, sessions, place, makeSessions));
    progress(`${sessions} live sessions, ${profile}: ${costs.at(-1)?.bytes.toFixed(0)} bytes each`);
  }
  const small = await openPlace(part);
  await place.redis.empty();
  await make('ten_rounds', many, place, makeSessions);
  await make('ten_rounds', FEW, small, makeSessions);
  const timeBoth = async (): Promise<LiveTiming> => ({
    few: await timeOne(ask, small, FEW, options.seconds),
    many: await timeOne(ask, place, many, options.seconds),
  });
  await timeBoth();
  const rounds: LiveTiming[] = [];
  for (let round = 1; round <= options.rounds; round += 1) {
    const pair = await timeBoth();
    rounds.push(pair);
    const times = `${pair.few.p50.toFixed(3)} ms with ${FEW}, ${pair.many.p50.toFixed(3)} ms with ${many}`;
    progress(`live sessions, round ${round} of ${options.rounds}: ${times}`);
  }
  const redis = await place.redis.describe();
  for (const one of [place, small]) {
    await one.server.process.end();
    one.redis.close();
  }
  return { redis, costs, few: FEW, many, rounds };
};

const openPlace = async ({ surroundings }: Part): Promise<Place> => {
  const { url } = await surroundings.redisServers.start();
  return { server: await startPatientService(surroundings, url), redis: openRedisMemory(url) };
};

const make = async (profile: Profile, sessions: number, { server }: Place, ask: AskProcess): Promise<void> => {
  const { rounds, failures } = PROFILE_PLANS[profile];
  const plan: SessionPlan = { url: server.url, profile, sessions, connections: Math.min(CONNECTIONS, sessions) };
  const made = SessionsMade.parse(await ask(server, plan, sessions * rounds * SECONDS_PER_BATCH));
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
  await make(profile, FEW, place, makeSessions);
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

const timeOne = async (ask: AskProcess, { server }: Place, sessions: number, seconds: number): Promise<Timing> => {
  const share = seconds * SHARE_OF_SECONDS;
  const plan: TimingRequest = { url: server.url, kind: 'succeeding', calls: 1, sessions, seconds: share };
  return Timing.parse(await ask(server, plan, share));
};
