import { ROTATING_SESSIONS } from '../bodies.ts';
import { checkAnswer, checkLikeness } from '../check-answers.ts';
import { type FigureRow, type Figures, toRatioRow } from '../figures.ts';
import { type Lane, type LaneFigures, measurePair } from '../measure-lanes.ts';
import type { Part } from '../part.ts';
import { endServers, type Server, startService } from '../servers.ts';
import { checkSuccesses, readServiceCounts, toShareIn } from '../service-counts.ts';
import { startListening } from '../start-listening.ts';
import { EMBEDDED_TARGETS, type MainCase, REDIS_TARGETS } from '../targets.ts';

const CASES = {
  one: { words: '1 call', calls: 1, sessions: 0 },
  one_of_session: { words: '1 call of a session', calls: 1, sessions: ROTATING_SESSIONS },
  many: { words: '32 calls', calls: 32, sessions: 0 },
  many_of_session: { words: '32 calls of a session', calls: 32, sessions: ROTATING_SESSIONS },
} as const satisfies Record<MainCase, object>;

const BARE = { script: 'bare-route.ts', place: 'server', path: '/tool-calls' } as const;

/** The service on the embedded store, beside a bare Fastify route that gives the same answer. */
export const measureEmbedded = async (part: Part): Promise<Figures> => {
  const bare = await startListening(part.surroundings, BARE);
  const service = await startService(part.surroundings);
  const measured = await measureCases(part, EMBEDDED_TARGETS, {
    service: { title: 'embedded store', server: service },
    bare: { title: 'bare Fastify route', server: bare },
  });
  await endServers([bare, service]);
  return measured;
};

// On a busy machine a round trip may take longer than the service waits; then it counts by itself for a second.
const LEAST_IN_REDIS = 0.98;

/** The service on Redis, beside a bare route that makes one trip to Redis for each batch. */
export const measureRedis = async (part: Part): Promise<Figures> => {
  const { surroundings, progress } = part;
  const [own, other] = [await surroundings.redisServers.start(), await surroundings.redisServers.start()];
  const bare = await startListening(surroundings, { ...BARE, environment: { BARE_REDIS_URL: other.url } });
  const service = await startService(surroundings, { redisUrl: own.url });
  const measured = await measureCases(part, REDIS_TARGETS, {
    service: { title: 'Redis', server: service },
    bare: { title: 'bare route and one Lua script', server: bare },
  });
  const counts = await readServiceCounts(service.url);
  checkSuccesses(counts);
  const share = toShareIn('redis', counts);
  if (share < LEAST_IN_REDIS) progress(`Redis was away for ${((1 - share) * 100).toFixed(1)} % of the rounds`);
  await endServers([bare, service]);
  await surroundings.redisServers.stopAll();
  return share >= LEAST_IN_REDIS ? measured : { ...measured, rows: measured.rows.map(toDoubtful) };
};

const toDoubtful = (row: FigureRow): FigureRow => ({
  ...row,
  verdict: `${row.verdict}, an estimate: Redis was often late`,
});

type Side = { readonly title: string; readonly server: Server };

const measureCases = async (
  part: Part,
  targets: Readonly<Partial<Record<MainCase, number>>>,
  { service, bare }: { readonly service: Side; readonly bare: Side },
): Promise<Figures> => {
  const [rows, lanes]: [FigureRow[], LaneFigures[]] = [[], []];
  for (const name of ['one', 'one_of_session', 'many', 'many_of_session'] as const) {
    const target = targets[name];
    if (target === undefined) continue;
    const { words, calls, sessions } = CASES[name];
    checkLikeness(
      await checkAnswer(bare.server.url, 'succeeding', calls),
      await checkAnswer(service.server.url, 'succeeding', calls),
    );
    const toLane = ({ title, server }: Side): Lane => ({
      title: `${title}, ${words}`,
      server,
      load: { calls, sessions },
      ...(service.title === 'Redis' ? { mayWarn: 'sometimes' } : {}),
    });
    const { comparedTo, lane } = await measurePair(part, toLane(bare), toLane(service));
    rows.push(
      toRatioRow({ what: lane.title, lane, comparedTo: { ...comparedTo, title: bare.title }, as: 'share', target }),
    );
    lanes.push(comparedTo, lane);
  }
  return { rows, lanes };
};
