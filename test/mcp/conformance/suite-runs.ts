import type { SuiteVersion } from './run-suite.ts';

/** What is tested: `/mcp` with a tools directory, `/mcp` with an MCP server as upstream, or the client of upstreams. */
export type Subject = 'direct' | 'upstream' | 'client';

export type RunName = `${Subject} ${'stable' | '2025-11-25' | '2026-07-28'}`;

export type SuiteRun = {
  readonly name: RunName;
  readonly subject: Subject;
  readonly version: SuiteVersion;
  /** Of the command line, beside the address. */
  readonly words: readonly string[];
};

const toRuns = (subject: Subject): readonly SuiteRun[] => [
  { name: `${subject} stable`, subject, version: 'mcp-conformance-stable', words: ['--suite', 'all'] },
  ...(['2025-11-25', '2026-07-28'] as const).map((revision) => ({
    name: `${subject} ${revision}` as const,
    subject,
    version: 'mcp-conformance-next' as const,
    words: ['--suite', 'all', '--spec-version', revision],
  })),
];

/** The released version has no choice of a revision: each scenario brings its own. */
export const SUITE_RUNS: readonly SuiteRun[] = (['direct', 'upstream', 'client'] as const).flatMap(toRuns);
