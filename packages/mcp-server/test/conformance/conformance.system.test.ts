import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '@recourse/test-support/start-process.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';
import { type ClientDesk, openClientDesk } from './client-desk.ts';
import { renderConformancePage } from './conformance-page.ts';
import { EXPECTED_FAILURES } from './expected-failures.ts';
import { runSuite, type ScenarioResult, type SuiteResults } from './run-suite.ts';
import { type RunName, SUITE_RUNS, type SuiteRun } from './suite-runs.ts';

let direct: RunningService;
let upstream: RunningService;
let desk: ClientDesk;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'recourse-conformance-'));
  const config = join(folder, 'config.json');
  const server = { command: process.execPath, args: [join(import.meta.dirname, 'upstream-server.ts')], prefix: '' };
  await writeFile(config, JSON.stringify({ mcpServers: { suite: server } }));
  [direct, upstream, desk] = await Promise.all([
    startService({ LOG_LEVEL: 'error', TOOLS_DIR: join(import.meta.dirname, 'tools') }),
    startService({ LOG_LEVEL: 'error', CONFIG_FILE: config }),
    openClientDesk(),
  ]);
});
afterAll(async () => {
  await Promise.all([direct.stop(), upstream.stop(), desk[Symbol.asyncDispose]()]);
  await rm(folder, { recursive: true });
});

const toAddress = ({ subject }: SuiteRun): readonly string[] =>
  subject === 'client'
    ? ['client', '--command', desk.command, '--timeout', '60000']
    : ['server', '--url', `${(subject === 'upstream' ? upstream : direct).url}/mcp`];

const toFailures = (results: SuiteResults): readonly string[] =>
  [...results].flatMap(([scenario, { failed }]) => failed.map((check) => `${scenario}: ${check}`)).sort();

/** Those of the baseline whose scenario is in the run. */
const toExpected = (name: RunName, results: SuiteResults): readonly string[] =>
  EXPECTED_FAILURES.filter(({ runs }) => runs?.includes(name) ?? true)
    .flatMap(({ checks }) => Object.entries(checks))
    .filter(([scenario]) => results.has(scenario))
    .flatMap(([scenario, failed]) => failed.map((check) => `${scenario}: ${check}`))
    .sort();

const LIMIT = { timeout: timeLimit(90_000) } as const;
const ran = new Map<RunName, SuiteResults>();

const play = async (run: SuiteRun): Promise<SuiteResults> => {
  const results = new Map<string, ScenarioResult>();
  for (const words of run.words)
    for (const [scenario, result] of await runSuite(run.version, [...toAddress(run), ...words]))
      results.set(scenario, result);
  ran.set(run.name, results);
  return results;
};

const serverRuns = Map.groupBy(
  SUITE_RUNS.filter(({ subject }) => subject !== 'client'),
  ({ version, words }) => (words.length > 1 ? 'the scenarios of tasks' : [version, ...words.flat()].join(' ')),
);

// Two at once: half of a run is waiting.
describe.for([...serverRuns])('as a server, by %s', ([, runs]) => {
  test.concurrent.for(runs)('$subject: what fails is in the baseline', LIMIT, async (run, { expect: within }) => {
    const results = await play(run);
    within(toFailures(results)).toEqual(toExpected(run.name, results));
  });
});

// One at a time: the suite measures when a client is there again.
test.for(SUITE_RUNS.filter(({ subject }) => subject === 'client'))(
  '$name: what fails is in the baseline',
  LIMIT,
  async (run) => {
    const results = await play(run);
    expect(toFailures(results)).toEqual(toExpected(run.name, results));
  },
);

test('every scenario of the baseline is in the suite', () => {
  const scenarios = new Set([...ran.values()].flatMap((results) => [...results.keys()]));
  const named = EXPECTED_FAILURES.flatMap(({ checks }) => Object.keys(checks));
  expect(named.filter((scenario) => !scenarios.has(scenario))).toEqual([]);
});

const Requirements = z.object({
  server: z.array(z.string()),
  client: z.array(z.string()),
  not_scored: z.array(z.object({ scenario: z.string(), leg: z.enum(['server', 'client']) })),
});

// Of OAuth, and of skills: see the page.
const isLeftOut = (scenario: string): boolean => scenario.startsWith('auth/') || scenario.startsWith('sep-2640-');

test.for(['2025-11-25', '2026-07-28'] as const)(
  'every scenario that the suite requires of %s was run',
  async (revision) => {
    const path = join(ROOT, 'node_modules/mcp-conformance-next/requirements', `${revision}.yaml`);
    const required = Requirements.parse(parse(await readFile(path, 'utf8')));
    const inRuns = (...names: readonly RunName[]): ReadonlySet<string> =>
      new Set(names.flatMap((name) => [...(ran.get(name)?.keys() ?? [])]));
    const legs = { server: inRuns(`direct ${revision}`, 'tasks 2026-07-28'), client: inRuns(`client ${revision}`) };
    const all = [
      ...required.server.map((scenario) => ({ scenario, leg: 'server' as const })),
      ...required.client.map((scenario) => ({ scenario, leg: 'client' as const })),
      ...required.not_scored,
    ];
    expect(all.length).toBeGreaterThan(30);
    expect(all.filter(({ scenario, leg }) => !isLeftOut(scenario) && !legs[leg].has(scenario))).toEqual([]);
  },
);

// `npx vitest run packages/mcp-server/test/conformance -u` writes it.
test('the page shows what came of each scenario', async () => {
  expect(ran.size).toBe(10);
  await expect(renderConformancePage(ran, EXPECTED_FAILURES)).toMatchFileSnapshot(
    join(import.meta.dirname, 'results.md'),
  );
});
