import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { glob, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { ROOT } from '@recourse/test-support/start-process.ts';
import * as z from 'zod';

/** A version of the suite, by the name under which package.json has it. */
export type SuiteVersion = 'mcp-conformance-stable' | 'mcp-conformance-next';

export type ScenarioResult = {
  /** The ids of the checks that failed, sorted, each once. */
  readonly failed: readonly string[];
  /** Whether another check of the scenario's own passed. */
  readonly passedAny: boolean;
};

export type SuiteResults = ReadonlyMap<string, ScenarioResult>;

const Checks = z.array(z.object({ id: z.string(), status: z.string() }));

/**
 * Runs the command line of a version of the suite and reads what it has written of each scenario. Those about OAuth are
 * left out: the service takes API keys and tokens, and sends its upstreams fixed headers.
 */
export const runSuite = async (version: SuiteVersion, words: readonly string[]): Promise<SuiteResults> => {
  const folder = await mkdtemp(join(tmpdir(), 'recourse-conformance-'));
  try {
    const script = join(ROOT, 'node_modules', version, 'dist/index.js');
    const child = spawn(process.execPath, [script, ...words, '--output-dir', folder], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const [said, complained] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
    const results = await readResults(folder);
    if (results.size === 0) throw new Error(`The suite has run nothing: ${said}${complained}`);
    return results;
  } finally {
    await rm(folder, { recursive: true });
  }
};

const readResults = async (folder: string): Promise<SuiteResults> => {
  const results = new Map<string, ScenarioResult>();
  for await (const path of glob('**/checks.json', { cwd: folder }))
    if (!path.startsWith('auth/'))
      results.set(toScenario(path), toResult(Checks.parse(JSON.parse(await readFile(join(folder, path), 'utf8')))));
  return results;
};

// Of every scenario: whether each message that was sent is one of the protocol.
const WIRE_CHECK = 'wire-schema-valid';

const toResult = (checks: z.infer<typeof Checks>): ScenarioResult => {
  const idsOf = (status: string): ReadonlySet<string> =>
    new Set(checks.filter((check) => check.status === status).map(({ id }) => id));
  const failed = idsOf('FAILURE');
  const passed = [...idsOf('SUCCESS')].filter((id) => id !== WIRE_CHECK && !failed.has(id));
  return { failed: [...failed].sort(), passedAny: passed.length > 0 };
};

/** Of `server-tools-list-2026-11-23T08-44-08-744Z/checks.json`: `tools-list`. */
const toScenario = (path: string): string =>
  path
    .replace(/-\d{4}-\d\d-\d\dT[\d-]+Z\/checks\.json$/, '')
    // `server-` stands before a scenario's own name, which may begin with it.
    .replace(/^server-/, '');
