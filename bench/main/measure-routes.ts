import { ROTATING_SESSIONS } from '../bodies.ts';
import { checkAnswer, checkLikeness } from '../check-answers.ts';
import { type FigureRow, type Figures, toFigureRow } from '../figures.ts';
import { type Lane, type LaneFigures, measureLanes, measurePair } from '../measure-lanes.ts';
import type { Part } from '../part.ts';
import { endServers, type Server, startService } from '../servers.ts';
import { checkSuccesses, readServiceCounts, toShareIn } from '../service-counts.ts';
import { startListening } from '../start-listening.ts';
import { EMBEDDED_TARGETS, type MainCase, MIN_RIGHT_AFTER_START, REDIS_TARGETS } from '../targets.ts';

const CASES = {
  one: { words: '1 call', calls: 1, sessions: 0 },
  one_of_session: { words: '1 call of a session', calls: 1, sessions: ROTATING_SESSIONS },
  many: { words: '32 calls', calls: 32, sessions: 0 },
  many_of_session: { words: '32 calls of a session', calls: 32, sessions: ROTATING_SESSIONS },
} as const satisfies Record<MainCase, object>;

const NAMES = ['one', 'one_of_session', 'many', 'many_of_session'] as const satisfies readonly MainCase[];

const BARE = { script: 'bare-route.ts', place: 'server', path: '/tool-calls' } as const;

/** The service on the embedded store, beside a bare Fastify route that gives the same answer. */
export const measureEmbedded = async (part: Part): Promise<Figures> => {
  const bare = await startListening(part.surroundings, BARE);
  const service = await startService(part.surroundings);
  const first = await measureFirst(part, service);
  const { rows, lanes } = await measureCases(part, EMBEDDED_TARGETS, {
    service: { title: 'embedded store', server: service },
    bare: { title: 'bare Fastify route', server: bare },
  });
  await endServers([bare, service]);
  const settled = lanes.filter(({ title }) => title.startsWith('embedded store'));
  return { rows: [...rows, toFirstRow(first, settled)], lanes };
};

// Two seconds in all.
const FIRST_PACE = { rounds: 4, warmUpSeconds: 0, sliceMs: 125 } as const;

/** What a service answers in the first two seconds after its first answer: all cases in turn. */
const measureFirst = (part: Part, server: Server): Promise<readonly LaneFigures[]> =>
  measureLanes(
    part,
    NAMES.map((name) => {
      const { words, calls, sessions } = CASES[name];
      return { title: `right after the start, ${words}`, server, load: { calls, sessions, awake: true } };
    }),
    FIRST_PACE,
  );

/** Of one batch of each case together: the processor time of all slices, for what is slow at first is what is looked for. */
const toFirstRow = (first: readonly LaneFigures[], settled: readonly LaneFigures[]): FigureRow => {
  const sumOf = (lanes: readonly LaneFigures[]): number => lanes.reduce((sum, { meanMicros }) => sum + meanMicros, 0);
  return {
    what: 'the first 2 s after the start, the four of the embedded store',
    as: 'share',
    measured: [sumOf(first)],
    comparedTo: 'the same, settled',
    reference: [sumOf(settled)],
    figures: [sumOf(settled) / sumOf(first)],
    target: MIN_RIGHT_AFTER_START,
    doubts: [],
  };
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
  doubts: [...row.doubts, 'Redis was often late'],
});

type Side = { readonly title: string; readonly server: Server };

const measureCases = async (
  part: Part,
  targets: Readonly<Partial<Record<MainCase, number>>>,
  { service, bare }: { readonly service: Side; readonly bare: Side },
): Promise<Figures> => {
  const [rows, lanes]: [FigureRow[], LaneFigures[]] = [[], []];
  for (const name of NAMES) {
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
      load: { calls, sessions, awake: service.title !== 'Redis' },
      ...(service.title === 'Redis' ? { mayWarn: 'sometimes' } : {}),
    });
    const { comparedTo, lane } = await measurePair(part, toLane(bare), toLane(service));
    rows.push(
      toFigureRow({ what: lane.title, lane, comparedTo: { ...comparedTo, title: bare.title }, as: 'share', target }),
    );
    lanes.push(comparedTo, lane);
  }
  return { rows, lanes };
};
