import { join } from 'node:path';
import { ROTATING_SESSIONS } from '../bodies.ts';
import { toLaneTable } from '../figures.ts';
import { type Lane, type LaneFigures, measureLanes } from '../measure-lanes.ts';
import type { Part } from '../part.ts';
import { endServers, type Server, startService } from '../servers.ts';
import type { LaneLoad } from '../slices/slice-plan.ts';
import { toTable, toVerdict } from '../to-table.ts';
import { WITH_WRITE_TOOL } from './write-tool.ts';

const KEYED: LaneLoad = { kind: 'writing', calls: 1, key: 'fresh', timed: true };
const SHAPES = [
  { what: 'a batch of a session', load: { calls: 1, sessions: ROTATING_SESSIONS, timed: true }, mostMicros: 30 },
  { what: 'a keyed write', load: KEYED, mostMicros: 40 },
  { what: 'a keyed write, one connection', load: { ...KEYED, connections: 1 }, mostMicros: null },
] as const satisfies readonly { what: string; load: LaneLoad; mostMicros: number | null }[];

const MOST_WAIT_MS = 10;

/** What batches cost more where they are kept in a file of SQLite, and how long keyed writes wait, beside memory. */
export const measureSqlite = async (part: Part): Promise<readonly string[]> => {
  const { surroundings } = part;
  const STORE = `sqlite:${join(surroundings.directory, 'store.db')}`;
  const memory = await startService(surroundings, { settings: WITH_WRITE_TOOL });
  const sqlite = await startService(surroundings, { settings: { ...WITH_WRITE_TOOL, STORE } });
  const lanes = await measureLanes(
    part,
    SHAPES.flatMap(({ what, load }) => [
      toLane(`memory, ${what}`, memory, load),
      toLane(`SQLite, ${what}`, sqlite, load),
    ]),
  );
  await endServers([memory, sqlite]);
  const pairs = SHAPES.map((shape, at) => ({ ...shape, memory: lanes[2 * at], sqlite: lanes[2 * at + 1] }));
  return [
    '## SQLite',
    toTable(
      ['what', 'memory, µs', 'SQLite, µs', 'more, µs', 'target', '', 'SQLite, p99 ms', 'target', ''],
      pairs.map(toRow),
    ),
    '### Every server',
    toLaneTable(lanes),
  ];
};

// Of the embedded store each key is answered with a warning that it is not durable.
const toLane = (title: string, server: Server, load: LaneLoad): Lane => ({ title, server, load, mayWarn: 'always' });

type Pair = {
  readonly what: string;
  readonly mostMicros: number | null;
  readonly memory: LaneFigures | undefined;
  readonly sqlite: LaneFigures | undefined;
};

const toRow = ({ what, mostMicros, memory, sqlite }: Pair): readonly string[] => {
  const [before, after] = [memory?.micros ?? Number.NaN, sqlite?.micros ?? Number.NaN];
  const p99 = sqlite?.p99Ms ?? Number.NaN;
  return [
    what,
    ...[before, after, after - before].map((micros) => micros.toFixed(1)),
    ...(mostMicros === null ? ['', ''] : [`≤ ${mostMicros}`, toVerdict(after - before <= mostMicros)]),
    p99.toFixed(1),
    `≤ ${MOST_WAIT_MS}`,
    toVerdict(p99 <= MOST_WAIT_MS),
  ];
};
