import { ROTATING_SESSIONS } from '../bodies.ts';
import { type FigureRow, type Figures, toFigureRow, toSection } from '../figures.ts';
import { type Lane, type LaneFigures, measurePair } from '../measure-lanes.ts';
import { measureStarts } from '../measure-starts.ts';
import type { Part } from '../part.ts';
import { endServers, type Server, startService } from '../servers.ts';
import type { LaneLoad } from '../slices/slice-plan.ts';
import { measureLive } from './measure-live.ts';
import { openRedisMemory } from './redis-memory.ts';
import { toLiveSection } from './to-live-section.ts';
import { WITH_WRITE_TOOL } from './write-tool.ts';

/** What sessions, their journal and keys cost, and what live sessions take in Redis; one after the other. */
export const measureSessions = async (part: Part): Promise<readonly string[]> => {
  const { redisServers } = part.surroundings;
  const [rows, lanes]: [FigureRow[], LaneFigures[]] = [[], []];
  for (const measure of [measureStores, measureKeys]) {
    const measured = await measureStarts(part, measure);
    rows.push(...measured.rows);
    lanes.push(...measured.lanes);
  }
  const live = await measureLive(part);
  await redisServers.stopAll();
  return [...toSection('Sessions', { rows, lanes }), ...toLiveSection(live)];
};

const BATCHES = [1, 32] as const;
const SESSION = { sessions: ROTATING_SESSIONS } as const;
const NO_JOURNAL = { SESSION_JOURNAL: '0' };

type Side = { readonly title: string; readonly server: Server; readonly load: Omit<LaneLoad, 'calls'> };
type Comparison = {
  readonly what: string;
  readonly lane: Side;
  readonly comparedTo: Side;
  readonly before?: () => Promise<void>;
};

const compare = async (part: Part, comparisons: readonly Comparison[]): Promise<Figures> => {
  const [rows, lanes]: [FigureRow[], LaneFigures[]] = [[], []];
  for (const { what, lane: one, comparedTo: other, before } of comparisons) {
    for (const calls of BATCHES) {
      await before?.();
      const toLane = ({ title, server, load }: Side): Lane => ({
        title,
        server,
        load: { ...load, calls },
        mayWarn: 'sometimes',
      });
      const { lane, comparedTo } = await measurePair(part, toLane(other), toLane(one));
      rows.push(toFigureRow({ what: `${what}, ${calls} a batch`, lane, comparedTo, as: 'share' }));
      lanes.push(comparedTo, lane);
    }
  }
  return { rows, lanes };
};

const measureStores = async (part: Part): Promise<Figures> => {
  const { surroundings } = part;
  const redisUrl = (await surroundings.redisServers.start()).url;
  const otherUrl = (await surroundings.redisServers.start()).url;
  const redis = await startService(surroundings, { redisUrl });
  const redisBare = await startService(surroundings, { redisUrl: otherUrl, settings: NO_JOURNAL });
  const embedded = await startService(surroundings);
  const embeddedBare = await startService(surroundings, { settings: NO_JOURNAL });
  const onRedis: Side = { title: 'Redis, a session', server: redis, load: SESSION };
  const inMemory: Side = { title: 'embedded, a session', server: embedded, load: SESSION };
  const measured = await compare(part, [
    {
      what: 'Redis: session to none',
      lane: onRedis,
      comparedTo: { title: 'Redis, no session', server: redis, load: {} },
    },
    { what: 'session: Redis to embedded', lane: onRedis, comparedTo: inMemory },
    {
      what: 'Redis: journal to none',
      lane: onRedis,
      comparedTo: { title: 'Redis, a session, no journal', server: redisBare, load: SESSION },
    },
    {
      what: 'embedded: journal to none',
      lane: inMemory,
      comparedTo: { title: 'embedded, a session, no journal', server: embeddedBare, load: SESSION },
    },
  ]);
  await endServers([redis, redisBare, embedded, embeddedBare]);
  await surroundings.redisServers.stopAll();
  return measured;
};

/** Batches with a new key each, and with a header of that size that the service does not read: one service. */
const measureKeys = async (part: Part): Promise<Figures> => {
  const { surroundings } = part;
  const { url } = await surroundings.redisServers.start();
  const redis = openRedisMemory(url);
  const server = await startService(surroundings, { redisUrl: url, settings: WITH_WRITE_TOOL });
  const toComparison = (what: string, load: Side['load']): Comparison => ({
    what: `${what}: keyed to not`,
    lane: { title: `Redis, ${what}, keyed`, server, load: { ...load, key: 'fresh' } },
    comparedTo: { title: `Redis, ${what}`, server, load: { ...load, key: 'ignored' } },
    before: redis.empty,
  });
  const measured = await compare(part, [
    toComparison('read tool', SESSION),
    toComparison('write tool', { ...SESSION, kind: 'writing' }),
  ]);
  await endServers([server]);
  redis.close();
  await surroundings.redisServers.stopAll();
  return measured;
};
