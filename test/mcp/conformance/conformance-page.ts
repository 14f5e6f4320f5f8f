import type { ExpectedFailures } from './expected-failures.ts';
import type { SuiteResults } from './run-suite.ts';
import type { RunName } from './suite-runs.ts';

type Ran = ReadonlyMap<RunName, SuiteResults>;
type Column = { readonly run: RunName; readonly title: string };

const SERVER_COLUMNS: readonly Column[] = [
  { run: 'direct stable', title: 'directly: 0.1.16' },
  { run: 'direct 2025-11-25', title: 'alpha, 2025-11-25' },
  { run: 'direct 2026-07-28', title: 'alpha, 2026-07-28' },
  { run: 'upstream stable', title: 'through an upstream: 0.1.16' },
  { run: 'upstream 2025-11-25', title: 'alpha, 2025-11-25' },
  { run: 'upstream 2026-07-28', title: 'alpha, 2026-07-28' },
];

const CLIENT_COLUMNS: readonly Column[] = [
  { run: 'client stable', title: '0.1.16' },
  { run: 'client 2025-11-25', title: 'alpha, 2025-11-25' },
  { run: 'client 2026-07-28', title: 'alpha, 2026-07-28' },
];

/** docs/mcp-conformance.md: what came of each scenario in each run, and why some fail. */
export const renderConformancePage = (ran: Ran, expected: readonly ExpectedFailures[]): string => {
  const notes = [...new Set(expected.map(({ reason }) => reason))];
  const table = (columns: readonly Column[]): string => renderTable(columns, { ran, expected, notes });
  return `# Conformance to the Model Context Protocol

The conformance suite of the protocol ([modelcontextprotocol/conformance](https://github.com/modelcontextprotocol/conformance))
is part of the tests, in its release 0.1.16 and in 0.2.0-alpha.12 (alpha), which has the scenarios of revision 2026-07-28.
\`npx vitest run test/mcp/conformance\` runs it against a whole service, compares what fails with the baseline in
\`test/mcp/conformance/expected-failures.ts\`, and this page with what came of it; \`-u\` writes the page. A failure
that the baseline does not name makes the tests red, and so does one that it names and that is gone.

A cell says \`pass\`, or which [note](#notes) tells why checks of the scenario fail; a scenario that the version or the
revision does not have is left empty. Scenarios of extensions (tasks, skills) are not run: the service declares no
extension. Scenarios about OAuth are not run either: \`/mcp\` takes [API keys and tokens](access.md), and upstreams are
sent the headers that the configuration gives.

## As a server

\`/mcp\` with the suite's tools, once as files of a tools directory and once as tools of an MCP server that is an
[upstream](mcp-upstreams.md).

${table(SERVER_COLUMNS)}

## As a client

The suite's servers are an upstream, and their tools are called by \`POST /tool-calls\`.

${table(CLIENT_COLUMNS)}

## Notes

${notes.map((note, index) => `${index + 1}. ${note}`).join('\n')}
`;
};

type Told = { readonly ran: Ran; readonly expected: readonly ExpectedFailures[]; readonly notes: readonly string[] };

const renderTable = (columns: readonly Column[], told: Told): string => {
  const scenarios = new Set(columns.flatMap(({ run }) => [...(told.ran.get(run)?.keys() ?? [])]));
  const lines = [
    ['scenario', ...columns.map(({ title }) => title)],
    columns.map(() => '---').concat('---'),
    ...[...scenarios]
      .sort()
      .map((scenario) => [`\`${scenario}\``, ...columns.map(({ run }) => toCell(scenario, run, told))]),
  ];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
};

const toCell = (scenario: string, run: RunName, { ran, expected, notes }: Told): string => {
  const failed = ran.get(run)?.get(scenario);
  if (failed === undefined) return '';
  if (failed.length === 0) return 'pass';
  const why = expected
    .filter(({ checks, runs }) => Object.hasOwn(checks, scenario) && (runs?.includes(run) ?? true))
    .map(({ reason }) => `note ${notes.indexOf(reason) + 1}`);
  return why.length === 0 ? 'fails' : why.join(', ');
};
