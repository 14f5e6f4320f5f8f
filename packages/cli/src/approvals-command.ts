import { type CliContext, type ExitCode, toPlainText } from 'recourse-server/cli/terminal';
import * as z from 'zod';
import { type AddressWords, askService, findServiceAddress, type ServiceAddress } from './ask-service.ts';
import {
  CommandFailed,
  createPaint,
  cutToColumns,
  escapeForTerminal,
  formatRow,
  type Paint,
  WrongUse,
} from './command-output.ts';
import { type Column, formatTable } from './command-table.ts';

/** Each as it was written on the command line. */
export type ApprovalWords = AddressWords & {
  readonly words: readonly string[];
  readonly reason?: string;
  readonly digest?: string;
  readonly json?: boolean;
};

// What is shown of an approval; the document of the API describes the rest.
const Arguments = z.record(z.string(), z.unknown()).nullable();
const Approval = z.object({
  id: z.string(),
  digest: z.string(),
  state: z.string(),
  tool: z.string(),
  arguments: Arguments,
  edited_arguments: Arguments,
  summary: z.string(),
  key: z.string().nullable(),
  session: z.string().nullable(),
  requested_at: z.iso.datetime(),
  expires_at: z.iso.datetime().nullable(),
  decision: z.string().nullable(),
  decided_by: z.string().nullable(),
  reason: z.string().nullable(),
});
type Approval = z.infer<typeof Approval>;
const Listed = z.object({ approvals: z.array(Approval), total: z.number() });

/** Lists the calls that wait for a person, or shows or decides one. 0 = done, 1 = it was not, or there is no service to ask. */
export const runApprovals = async (words: ApprovalWords, context: CliContext): Promise<ExitCode> => {
  const { action, id } = readAction(words);
  const address = findServiceAddress(words, context.loadEnvironment());
  const { terminal } = context;
  const paint = createPaint(terminal.colors);
  const { raw, text } = await act(action, id, { words, context, address, paint });
  terminal.write(`${words.json === true ? escapeForTerminal(JSON.stringify(raw, null, 2)) : text}\n`);
  return 0;
};

const ACTIONS = ['list', 'show', 'approve', 'deny'] as const;
type Action = (typeof ACTIONS)[number];

const readAction = ({ words, reason, digest }: ApprovalWords): { readonly action: Action; readonly id: string } => {
  const [word = 'list', id = ''] = words;
  const action = ACTIONS.find((action) => action === word);
  if (action === undefined) throw new WrongUse(`'${word}' is not show, approve or deny.`);
  if (action !== 'list' && !/^a_[\w-]{22}$/.test(id))
    throw new WrongUse(`Write the id of an approval behind ${action}: a_ and 22 characters.`);
  const decides = action === 'approve' || action === 'deny';
  if (!decides && (reason ?? digest) !== undefined)
    throw new WrongUse('--reason and --digest are for approve and deny.');
  if (digest !== undefined && !/^sha256:[0-9a-f]{64}$/.test(digest))
    throw new WrongUse('--digest must be sha256: and 64 hex digits, as show prints it.');
  return { action, id };
};

type Asking = {
  readonly words: ApprovalWords;
  readonly context: CliContext;
  readonly address: ServiceAddress;
  readonly paint: Paint;
};
type Answer = { readonly raw: unknown; readonly text: string };

const TIME_LIMIT_MS = 30_000;

const act = async (action: Action, id: string, asking: Asking): Promise<Answer> => {
  const { context, address, paint } = asking;
  if (action === 'list') return list(address, context.terminal.columns);
  if (action === 'show') {
    const { body, raw } = await readOne(id, address);
    return { raw, text: formatApproval(body, paint) };
  }
  return decide(action, id, asking);
};

const list = async (address: ServiceAddress, columns: number): Promise<Answer> => {
  const read = (answer: unknown) => Listed.safeParse(answer).data ?? null;
  const { body, raw } = await askService(address, { path: '/approvals', read, timeLimitMs: TIME_LIMIT_MS });
  return { raw, text: formatList(body, columns) };
};

const readOne = (
  id: string,
  address: ServiceAddress,
  sent: { readonly body?: unknown; readonly digest?: string } = {},
) =>
  askService(address, {
    path: `/approvals/${id}`,
    ...(sent.digest === undefined ? {} : { body: sent.body, headers: { 'if-match': `"${sent.digest}"` } }),
    read: (answer) => Approval.safeParse(answer).data ?? null,
    timeLimitMs: TIME_LIMIT_MS,
  });

/** Decides on what was shown: by the digest that the command line names, or that a person has just seen. */
const decide = async (decision: 'approve' | 'deny', id: string, asking: Asking): Promise<Answer> => {
  const { words, address, paint } = asking;
  const digest = words.digest ?? (await confirm(decision, id, asking));
  const body = { decision, reason: words.reason };
  const { body: decided, raw } = await readOne(id, address, { body, digest });
  return { raw, text: formatApproval(decided, paint) };
};

const confirm = async (
  decision: 'approve' | 'deny',
  id: string,
  { context, address, paint }: Asking,
): Promise<string> => {
  const { ask, terminal } = context;
  if (ask === null)
    throw new WrongUse(`Without a terminal ${decision} needs --digest, as recourse approvals show prints it.`);
  const { body: approval } = await readOne(id, address);
  terminal.writeError(`${formatApproval(approval, paint)}\n`);
  if (approval.state !== 'waiting') throw new CommandFailed('It cannot be decided any more.');
  const said = await ask(`${decision === 'approve' ? 'Approve' : 'Deny'} this call? [y/N] `);
  if (!/^y(es)?$/i.test(said.trim())) throw new CommandFailed('Nothing was decided.');
  return approval.digest;
};

const COLUMNS: readonly Column[] = [
  ['id', 'left'],
  ['tool', 'left'],
  ['key', 'left'],
  ['left', 'right'],
  ['summary', 'left'],
];
const MAX_NAME = 32;

const formatList = ({ approvals, total }: z.infer<typeof Listed>, columns: number): string => {
  if (approvals.length === 0) return 'No call waits for an approval.';
  const rows = approvals.map(({ id, tool, key, expires_at: until, summary }) => [
    id,
    cutToColumns(toPlainText(tool), MAX_NAME),
    cutToColumns(toPlainText(key ?? '(none)'), MAX_NAME),
    until === null ? '' : formatLeft(until),
    toPlainText(summary),
  ]);
  const more = total > approvals.length ? `\n(${total - approvals.length} more wait)` : '';
  return `${formatTable(COLUMNS, rows, columns)}${more}`;
};

const formatLeft = (until: string): string => {
  const seconds = Math.max(0, Math.ceil((Date.parse(until) - Date.now()) / 1000));
  return seconds < 60 ? `${seconds} s` : `${Math.ceil(seconds / 60)} min`;
};

/** An approval as people read it. */
const formatApproval = (approval: Approval, paint: Paint): string => {
  const { tool, state, summary, edited_arguments: edited, reason, key, session, expires_at: until } = approval;
  const optional = (name: string, text: string | null): readonly string[] =>
    text === null ? [] : [formatRow(name, toPlainText(text), paint)];
  return [
    `${paint('bold', toPlainText(tool))}: ${state}${describeDecision(approval)}`,
    formatRow('summary', toPlainText(summary), paint),
    formatRow('arguments', formatArguments(approval.arguments), paint),
    ...(edited === null ? [] : [formatRow('runs with', formatArguments(edited), paint)]),
    ...optional('reason', reason),
    formatRow('key', toPlainText(key ?? '(none)'), paint),
    ...optional('session', session),
    formatRow('asked', approval.requested_at, paint),
    ...optional('until', until === null ? null : `${until} (${formatLeft(until)})`),
    formatRow('digest', toPlainText(approval.digest), paint),
  ].join('\n');
};

const describeDecision = ({ decision, decided_by: by }: Approval): string =>
  decision === null ? '' : ` (${decision} by ${by === null ? 'somebody without a key' : toPlainText(by)})`;

const formatArguments = (value: Approval['arguments']): string =>
  value === null ? 'not shown: the tool is not here now' : escapeForTerminal(JSON.stringify(value, null, 2));
