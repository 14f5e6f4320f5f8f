import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ROOT } from '#test/support/start-process.ts';
import { type RunningService, startService } from '#test/support/start-service.ts';
import { type ClientDesk, openClientDesk } from './client-desk.ts';
import { renderConformancePage } from './conformance-page.ts';
import { EXPECTED_FAILURES } from './expected-failures.ts';
import { runSuite, type SuiteResults } from './run-suite.ts';
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
    : ['server', '--url', `${subject === 'direct' ? direct.url : upstream.url}/mcp`];

const toFailures = (results: SuiteResults): readonly string[] =>
  [...results].flatMap(([scenario, { failed }]) => failed.map((check) => `${scenario}: ${check}`)).sort();

/** Those of the baseline whose scenario is in the run. */
const toExpected = (name: RunName, results: SuiteResults): readonly string[] =>
  EXPECTED_FAILURES.filter(({ runs }) => runs?.includes(name) ?? true)
    .flatMap(({ checks }) => Object.entries(checks))
    .filter(([scenario]) => results.has(scenario))
    .flatMap(([scenario, failed]) => failed.map((check) => `${scenario}: ${check}`))
    .sort();

const LIMIT = { timeout: 90_000 } as const;
const ran = new Map<RunName, SuiteResults>();

const play = async (run: SuiteRun): Promise<SuiteResults> => {
  const results = await runSuite(run.version, [...toAddress(run), ...run.words]);
  ran.set(run.name, results);
  return results;
};

const serverRuns = Map.groupBy(
  SUITE_RUNS.filter(({ subject }) => subject !== 'client'),
  ({ version, words }) => [version, ...words].join(' '),
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

// `npx vitest run test/mcp/conformance -u` writes it.
test('the page shows what came of each scenario', async () => {
  expect(ran.size).toBe(9);
  await expect(renderConformancePage(ran, EXPECTED_FAILURES)).toMatchFileSnapshot(
    join(ROOT, 'docs/mcp-conformance.md'),
  );
});
