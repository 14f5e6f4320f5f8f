import { type CliContext, type ExitCode, toPlainText } from 'recourse-server/cli/terminal';
import * as z from 'zod';
import { type AddressWords, askService, findServiceAddress } from './ask-service.ts';
import { cutToColumns, escapeForTerminal, formatCount, WrongUse } from './command-output.ts';
import { type Column, formatTable } from './command-table.ts';

/** Each as it was written on the command line. */
export type ReportWords = AddressWords & { readonly since?: string; readonly json?: boolean };

// What is shown of a report; the document of the API describes the rest.
const Report = z.object({
  since: z.iso.datetime(),
  until: z.iso.datetime(),
  tools: z.array(
    z.object({
      tool: z.string(),
      calls: z.number(),
      failures: z.number(),
      codes: z.array(z.object({ code: z.string(), failures: z.number() })),
      arguments: z.array(z.object({ path: z.string(), rule: z.string(), failures: z.number() })),
      recovered: z.object({ sessions: z.number(), mean_rounds: z.number().nullable() }),
      gave_up: z.number(),
    }),
  ),
  unknown_names: z.array(z.object({ name: z.string(), calls: z.number(), nearest: z.string().nullable() })),
});
type Report = z.infer<typeof Report>;

const TIME_LIMIT_MS = 30_000;

/** Shows what models get wrong on a running service. 0 = shown, 1 = there is no service to ask. */
export const runReport = async (words: ReportWords, context: CliContext): Promise<ExitCode> => {
  const address = findServiceAddress(words, context.loadEnvironment());
  const { write, columns } = context.terminal;
  const { body, raw } = await askService(address, {
    path: '/reports/tools',
    ...(words.since === undefined ? {} : { query: { since: readSince(words.since) } }),
    read: (answer) => Report.safeParse(answer).data ?? null,
    timeLimitMs: TIME_LIMIT_MS,
  });
  write(`${words.json === true ? escapeForTerminal(JSON.stringify(raw, null, 2)) : formatReport(body, columns)}\n`);
  return 0;
};

const HOUR_MS = 60 * 60 * 1000;

const readSince = (text: string): string => {
  const [, hours] = /^(\d{1,2})h$/.exec(text) ?? [];
  if (hours !== undefined) return new Date(Date.now() - Number(hours) * HOUR_MS).toISOString();
  if (z.iso.datetime({ offset: true }).safeParse(text).success) return text;
  throw new WrongUse('--since must be hours such as 6h, or a time such as 2026-11-30T00:00:00Z.');
};

const MAX_NAME = 40;
const name = (text: string): string => cutToColumns(toPlainText(text), MAX_NAME);

const formatReport = ({ since, until, tools, unknown_names: unknown }: Report, columns: number): string => {
  const sum = (member: 'calls' | 'failures'): number => tools.reduce((total, tool) => total + tool[member], 0);
  const total = `${formatCount(sum('calls'), 'call')}, ${formatCount(sum('failures'), 'failure')}`;
  const wrong = tools.flatMap((tool) => tool.arguments.map((rule) => ({ ...rule, tool: tool.tool })));
  const mostFirst = wrong.toSorted((one, other) => other.failures - one.failures);
  return [
    `${since} to ${until}: ${total}`,
    ...formatPart('', TOOLS, tools.map(formatTool), columns),
    ...formatPart('Arguments that models get wrong', ARGUMENTS, mostFirst.map(formatArgument), columns),
    ...formatPart('Names that no tool has', NAMES, unknown.map(formatUnknown), columns),
  ].join('\n');
};

const formatPart = (
  title: string,
  head: readonly Column[],
  rows: readonly (readonly string[])[],
  columns: number,
): readonly string[] =>
  rows.length === 0 ? [] : ['', ...(title === '' ? [] : [title]), formatTable(head, rows, columns)];

const TOOLS: readonly Column[] = [
  ['tool', 'left'],
  ['calls', 'right'],
  ['failed', 'right'],
  ['recovered', 'right'],
  ['gave up', 'right'],
  ['failures by code', 'left'],
];

const formatTool = ({ tool, calls, failures, codes, recovered, gave_up: gaveUp }: Report['tools'][number]) => [
  ...[name(tool), `${calls}`, `${failures}`],
  recovered.mean_rounds === null ? '0' : `${recovered.sessions} (after ${recovered.mean_rounds})`,
  ...[`${gaveUp}`, codes.map(({ code, failures }) => `${toPlainText(code)} ${failures}`).join(', ')],
];

const ARGUMENTS: readonly Column[] = [
  ['failed', 'right'],
  ['tool', 'left'],
  ['argument', 'left'],
  ['what the schema asks for', 'left'],
];

const formatArgument = ({
  tool,
  path,
  rule,
  failures,
}: Report['tools'][number]['arguments'][number] & { readonly tool: string }) => [
  ...[`${failures}`, name(tool), path === '' ? '(all)' : name(path), toPlainText(rule)],
];

const NAMES: readonly Column[] = [
  ['calls', 'right'],
  ['nearest tool', 'left'],
  ['name', 'left'],
];

const formatUnknown = ({ name: wrong, calls, nearest }: Report['unknown_names'][number]) => [
  ...[`${calls}`, nearest === null ? '(none)' : name(nearest), toPlainText(wrong)],
];
