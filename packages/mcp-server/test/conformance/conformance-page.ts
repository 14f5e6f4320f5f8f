import type { ExpectedFailures } from './expected-failures.ts';
import type { ScenarioResult, SuiteResults } from './run-suite.ts';
import type { RunName } from './suite-runs.ts';

type Ran = ReadonlyMap<RunName, SuiteResults>;
type Column = { readonly run: RunName; readonly title: string };
type Told = { readonly ran: Ran; readonly expected: readonly ExpectedFailures[]; readonly notes: readonly string[] };

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

const TASK_COLUMNS: readonly Column[] = [{ run: 'tasks 2026-07-28', title: 'alpha, 2026-07-28' }];

/** results.md beside this file: what came of each scenario in each run, and why some fail. */
export const renderConformancePage = (ran: Ran, expected: readonly ExpectedFailures[]): string => {
  const notes = [...new Set(expected.toSorted(byKind).map(({ reason }) => reason))];
  const told = { ran, expected, notes };
  const open = new Set(expected.filter(({ kind }) => kind === 'open').map(({ reason }) => reason));
  return `# Conformance to the Model Context Protocol

Results of the protocol's conformance suite ([modelcontextprotocol/conformance](https://github.com/modelcontextprotocol/conformance)),
release 0.1.16 and 0.2.0-alpha.12 (alpha, with the scenarios of revision 2026-07-28). \`npx vitest run packages/mcp-server/test/conformance\` runs
it against a whole service and compares the failing checks with the baseline, \`packages/mcp-server/test/conformance/expected-failures.ts\`. A
failure that the baseline lacks fails the test, and so does a baseline entry that passes. A test compares this page; \`-u\` writes it.

\`pass\`: all checks pass. \`partly\`: some fail, for the reason in the [note](#notes). Empty: the version or revision lacks
the scenario. A scenario about a feature that the service does not offer is listed under its note only.

Not run: scenarios of skills, an extension that the service does not declare, and of OAuth: \`/mcp\` takes
[API keys and tokens](../../../../docs/access.md), and upstreams get the headers of the configuration file. All other
scenarios that the suite's own lists of requirements name for 2025-11-25 and 2026-07-28 are run, which a test holds.

## As a server

\`/mcp\` with the suite's tools, once as files of a tools directory and once as tools of an MCP server that is an upstream.

${renderTable(SERVER_COLUMNS, told)}

## Tasks

The extension \`io.modelcontextprotocol/tasks\`: \`/mcp\` with background tools in its tools directory.

${renderTable(TASK_COLUMNS, told)}

## As a client

The suite's servers are upstreams, and their tools are called by \`POST /tool-calls\`.

${renderTable(CLIENT_COLUMNS, told)}

## Notes

${notes.map((note, index) => renderNote(note, index, open.has(note), told)).join('\n')}
`;
};

const byKind = (one: ExpectedFailures, other: ExpectedFailures): number =>
  one.kind === other.kind ? 0 : one.kind === 'never' ? -1 : 1;

const renderNote = (note: string, index: number, isOpen: boolean, told: Told): string => {
  const scenarios = new Set(
    told.expected.filter(({ reason }) => reason === note).flatMap(({ checks }) => Object.keys(checks)),
  );
  const whole = [...scenarios].filter((scenario) => isNotOffered(scenario, told)).map((scenario) => `\`${scenario}\``);
  return `${index + 1}. ${isOpen ? 'To be mended. ' : ''}${note}${whole.length === 0 ? '' : ` (${whole.join(', ')})`}`;
};

const renderTable = (columns: readonly Column[], told: Told): string => {
  const scenarios = new Set(columns.flatMap(({ run }) => [...(told.ran.get(run)?.keys() ?? [])]));
  const shown = [...scenarios].filter((scenario) => !isNotOffered(scenario, told)).sort();
  const lines = [
    ['scenario', ...columns.map(({ title }) => title)],
    ['---', ...columns.map(() => '---')],
    ...shown.map((scenario) => [`\`${scenario}\``, ...columns.map(({ run }) => renderCell(scenario, run, told))]),
  ];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
};

/** Whether all of a scenario fails, in each run that has it, because of what the service does not offer. */
const isNotOffered = (scenario: string, { ran, expected }: Told): boolean => {
  const results = [...ran].flatMap(([run, byScenario]) => {
    const result = byScenario.get(scenario);
    return result === undefined ? [] : [{ run, result }];
  });
  return results.every(
    ({ run, result }) => fails(result) && causesOf(scenario, run, expected).every(({ kind }) => kind === 'never'),
  );
};

const fails = ({ failed, passedAny }: ScenarioResult): boolean => failed.length > 0 && !passedAny;

const causesOf = (scenario: string, run: RunName, expected: readonly ExpectedFailures[]): readonly ExpectedFailures[] =>
  expected.filter(({ checks, runs }) => Object.hasOwn(checks, scenario) && (runs?.includes(run) ?? true));

const renderCell = (scenario: string, run: RunName, { ran, expected, notes }: Told): string => {
  const result = ran.get(run)?.get(scenario);
  if (result === undefined) return '';
  if (result.failed.length === 0) return 'pass';
  const causes = causesOf(scenario, run, expected).map(({ reason }) => `note ${notes.indexOf(reason) + 1}`);
  return [result.passedAny ? 'partly' : 'fails', ...causes].join(', ');
};
