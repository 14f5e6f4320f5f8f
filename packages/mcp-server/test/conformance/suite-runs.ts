import type { SuiteVersion } from './run-suite.ts';

/**
 * What is tested: `/mcp` with a tools directory, `/mcp` with an MCP server as upstream, the client of upstreams, or `/mcp` with
 * tools whose calls are tasks.
 */
export type Subject = 'direct' | 'upstream' | 'client' | 'tasks';

export type RunName =
  | `${'direct' | 'upstream' | 'client'} ${'stable' | '2025-11-25' | '2026-07-28'}`
  | 'tasks 2026-07-28';

export type SuiteRun = {
  readonly name: RunName;
  readonly subject: Subject;
  readonly version: SuiteVersion;
  /** Of the command line, beside the address; several: the suite runs once with each. */
  readonly words: readonly (readonly string[])[];
};

const toRuns = (subject: Exclude<Subject, 'tasks'>): readonly SuiteRun[] => [
  { name: `${subject} stable`, subject, version: 'mcp-conformance-stable', words: [['--suite', 'all']] },
  ...(['2025-11-25', '2026-07-28'] as const).map((revision) => ({
    name: `${subject} ${revision}` as const,
    subject,
    version: 'mcp-conformance-next' as const,
    words: [['--suite', 'all', '--spec-version', revision]],
  })),
];

// Of an extension: no suite of a revision has them.
const TASK_SCENARIOS = [
  'tasks-lifecycle',
  'tasks-capability-negotiation',
  'tasks-wire-fields',
  'tasks-request-state-removal',
  'tasks-mrtr-input',
  'tasks-request-headers',
  'tasks-dispatch-and-envelope',
  'tasks-status-notifications',
  'tasks-required-task-error',
  'tasks-mrtr-composition',
] as const;

/** The released version has no choice of a revision: each scenario brings its own. */
export const SUITE_RUNS: readonly SuiteRun[] = [
  ...(['direct', 'upstream', 'client'] as const).flatMap(toRuns),
  {
    name: 'tasks 2026-07-28',
    subject: 'tasks',
    version: 'mcp-conformance-next',
    words: TASK_SCENARIOS.map((scenario) => ['--scenario', scenario]),
  },
];
