import { globSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readSourceFiles } from './source-files.ts';

// What the code weighs may only fall by itself. A change that needs more raises its number in the same commit, and the message says
// what it buys; one that needs less lowers it.

const ROOT = join(import.meta.dirname, '../..');

/** Most lines of each unit, with scripts of Redis, pages and styles; without tests and README. */
const LINES: Readonly<Record<string, number>> = {
  // 700 for effect ids, the operation `operate`, and the seam by which writes are looked for: verdicts, the port, results that a look replaces, settings.
  // 230 for the audit log: its port, settings, the check of its path, lines on stdout.
  // 240 for the states of circuits, lanes, lag and space that people on call read, and for circuits that they close.
  // 190 for lists: pages and their cursors, sessions by their hash, and the seams by which an index hears of resets and names.
  // 40 for what was made of which sources, which was in tool-hosts.
  // 15 for filters that keys and tokens with the same tools share.
  src: 30420,
  // 85 for pages of pending calls, newest first, and one of them by its handle.
  'packages/background': 5420,
  // 140 for recourse report.
  'packages/cli': 1825,
  // 2,535 for the overview, lists, search, the story of a session, tools by source and reports.
  'packages/console': 5600,
  // 760 for the audit log: its schema, its lines, the file that is reopened, retried and bounded; and the digest of tools.
  'packages/decide': 6065,
  'packages/dialects': 2940,
  'packages/mcp-server': 1795,
  // What oncall.ts describes. 670 for what processes write of themselves, put together, and circuits that people close.
  // 850 for the index of sessions and failed calls: its record, what is noted and written, its routes.
  // 1,350 for figures of the last hour, of all replicas, and the overview.
  'packages/oncall': 4230,
  'packages/store-redis': 1280,
  'packages/store-sqlite': 720,
  'packages/testing': 831,
  // 100 for what became of the processes of each file in the last hour.
  'packages/tool-hosts': 6495,
  'packages/toolkit-files': 450,
  'packages/toolkit-google': 2460,
  // 35 for directories that were listed within the last second: a model that guesses paths made each wrong one cost five reads.
  'packages/toolkit-kit': 3105,
  'packages/toolkit-notes': 1560,
  'packages/toolkit-shell': 1817,
  'packages/toolkit-slack': 660,
  'packages/toolkit-web': 180,
  'packages/tracing': 500,
  'packages/upstream-mcp': 2850,
  'packages/upstream-openapi': 3485,
  'packages/upstreams': 1418,
};

/** How far a unit may lie below its number before the number has to follow. */
const SLACK = 150;

/** Files of the executor that import each other in one chain, at most. */
const MOST_FLOORS = 10;
/** Files of the service that packages import, beside its public entries. */
const MOST_DOORS = 138;
const MOST_TYPES_PER_1000_LINES = 19;
/** Of all functions, those whose names begin with `to`, in percent. */
const MOST_CONVERSIONS_PERCENT = 8;

const FILES = readSourceFiles();
const TOTAL = FILES.reduce((sum, { lines }) => sum + lines, 0);

const linesOf = (unit: string): number =>
  globSync('**/*.{ts,lua,css,html}', { cwd: join(ROOT, unit) }).reduce(
    (sum, path) => sum + readFileSync(join(ROOT, unit, path), 'utf8').split('\n').length - 1,
    0,
  );

const countIn = (pattern: RegExp): number =>
  FILES.reduce((sum, { code }) => sum + (code.match(pattern)?.length ?? 0), 0);

test('no unit has more lines than its number, and every number is close to what it bounds', () => {
  const units = ['src', ...readdirSync(join(ROOT, 'packages')).map((name) => `packages/${name}`)];
  expect(Object.keys(LINES).sort()).toEqual(units.sort());
  const counted = units.map((unit) => ({ unit, lines: linesOf(unit === 'src' ? unit : `${unit}/src`) }));
  const offences = counted.flatMap(({ unit, lines }) => {
    const most = LINES[unit] ?? 0;
    if (lines > most) return [`${unit} has ${lines} lines, ${lines - most} more than its number`];
    return most - lines > SLACK ? [`${unit} has ${lines} lines: lower its number, ${most}`] : [];
  });
  expect(offences).toEqual([]);
});

test('the executor has no more floors than its number', () => {
  const edges = new Map(FILES.map(({ path, local }) => [path, local.map(({ from }) => from)]));
  const heights = new Map<string, number>();
  const heightOf = (path: string): number => {
    const known = heights.get(path);
    if (known !== undefined) return known;
    const below = (edges.get(path) ?? []).filter((from) => from.startsWith('executor/')).map(heightOf);
    const height = 1 + Math.max(0, ...below);
    heights.set(path, height);
    return height;
  };
  const floors = Math.max(...[...edges.keys()].filter((path) => path.startsWith('executor/')).map(heightOf));
  expect(floors).toBe(MOST_FLOORS);
});

test('there are no more types for each 1,000 lines than the number', () => {
  // Declarations: a line of an import may also begin with `type`.
  const types = countIn(/^\s*(?:export )?type \w+(?:<.*>)? =/gm);
  expect(Math.ceil((types * 1000) / TOTAL)).toBe(MOST_TYPES_PER_1000_LINES);
});

test('no larger share of the functions is called a conversion than the number', () => {
  const functions =
    /^\s*(?:export )?(?:const (\w+)(?:: [^=]+)? =\s*(?:async )?(?:<[^>]*>)?\(|(?:async )?function (\w+))/gm;
  const names = FILES.flatMap(({ code }) => [...code.matchAll(functions)].map(([, one, other]) => one ?? other ?? ''));
  const conversions = names.filter((name) => /^to[A-Z]/.test(name));
  expect(Math.ceil((conversions.length * 100) / names.length)).toBe(MOST_CONVERSIONS_PERCENT);
});

test('packages import no more files of the service than their number', () => {
  const imported = FILES.filter(({ path }) => path.startsWith('@')).flatMap(({ local }) =>
    local.map(({ from }) => from).filter((from) => !from.startsWith('@') && from.includes('/')),
  );
  expect(new Set(imported).size).toBe(MOST_DOORS);
});
