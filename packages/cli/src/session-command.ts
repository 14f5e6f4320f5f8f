import { type ExitCode, type Terminal, toPlainText } from 'recourse-server/cli/terminal';
import type { LoadedEnvironment } from 'recourse-server/config/read-configuration';
import { type JournalEntry, type LateResult, type SessionTool, SessionView } from 'recourse-server/contract/session';
import { askService, findServiceAddress, type ServiceAddress } from './ask-service.ts';
import { cutToColumns, escapeForTerminal, formatCount, WrongUse } from './command-output.ts';
import { type Column, formatTable } from './command-table.ts';

/** Each as it was written on the command line. */
export type SessionWords = {
  readonly ids: readonly string[];
  readonly url?: string;
  readonly key?: string;
  readonly json?: boolean;
};

const UNSEEN_HERE = 'This replica has counted nothing in it meanwhile. The session itself is in Redis.';
const UNSEEN = 'The session does not exist: it was never used, has expired, or belongs to another tenant.';
// Reducers get a second each, and there may be some.
const TIME_LIMIT_MS = 30_000;

/** Shows a session of a running service: its budgets, and the calls that its journal keeps. */
export const runSession = async (
  words: SessionWords,
  loaded: LoadedEnvironment,
  { write, columns }: Terminal,
): Promise<ExitCode> => {
  const { id, address } = createSessionRequest(words, loaded);
  const { body: view, raw } = await askService(address, {
    path: `/sessions/${encodeURIComponent(id)}`,
    read: (answer) => SessionView.safeParse(answer).data ?? null,
    timeLimitMs: TIME_LIMIT_MS,
  });
  if (words.json === true) write(`${escapeForTerminal(JSON.stringify(raw, null, 2))}\n`);
  else write(`${formatOverview(id, view, columns)}\n\n${formatHistory(view, columns)}\n`);
  return 0;
};

const formatHistory = (view: SessionView, columns: number): string => {
  if (!isUnseen(view)) return formatTimeline(view, columns);
  return view.session.mode === 'local' ? UNSEEN_HERE : UNSEEN;
};

/** Which session of which service the words ask for. */
export const createSessionRequest = (
  words: SessionWords,
  loaded: LoadedEnvironment,
): { readonly id: string; readonly address: ServiceAddress } => {
  const [id = '', ...more] = words.ids;
  if (id === '') throw new WrongUse('The session id is missing.');
  if (more.length > 0) throw new WrongUse('Name one session; quote an id that contains spaces.');
  // Every client takes these for steps in the path, escaped or not.
  if (id === '.' || id === '..') throw new WrongUse(`The session id '${id}' cannot be written into a URL.`);
  return { id, address: findServiceAddress(words, loaded) };
};

const MODES = {
  redis: 'stored in Redis',
  sqlite: 'stored in the file of the service',
  memory: 'stored in the memory of the service',
  local: 'stored in this replica only: Redis is unavailable',
} as const satisfies Record<SessionView['session']['mode'], string>;

const MAX_ID = 64;

/** What a session has used of its limits, its tools, and which reducers failed. */
export const formatOverview = (id: string, view: SessionView, width: number): string => {
  const { session, tools, slice_errors: sliceErrors = {} } = view;
  const totals = [
    formatUsed(session.rounds, session.max_rounds, 'round'),
    formatUsed(session.calls, session.max_calls, 'call'),
    `${session.retries_used} of ${session.retries_limit} retries used`,
  ];
  const problems = Object.entries(sliceErrors).map(
    ([reducer, problem]) => `Reducer ${toPlainText(reducer)} failed: ${toPlainText(problem)}`,
  );
  return [
    `Session ${cutToColumns(toPlainText(id), MAX_ID)}, ${MODES[session.mode]}`,
    totals.join(', '),
    ...(view.truncated === true
      ? ['Calls are missing: their journal lines were evicted to free memory in Redis.']
      : []),
    ...problems.map((problem) => cutToColumns(problem, width)),
    ...(tools.length === 0 ? [] : ['', formatTable(TOOLS, tools.map(formatToolRow), width)]),
  ].join('\n');
};

/** Whether nothing at all is known of the session. */
const isUnseen = ({ session, tools, calls }: SessionView): boolean =>
  session.rounds === 0 && tools.length === 0 && calls.length === 0;

const formatUsed = (count: number, limit: number | null, noun: string): string =>
  limit === null ? formatCount(count, noun) : `${count} of ${limit} ${noun}s`;

const TOOLS: readonly Column[] = [
  ['tool', 'left'],
  ['state', 'left'],
  ['failed', 'right'],
  ['retries', 'right'],
  ['repeats', 'left'],
  ['calls', 'right'],
  ['last error', 'left'],
];

const formatToolRow = (tool: SessionTool): readonly string[] => [
  formatName(tool.name),
  describeState(tool),
  `${tool.failures}x`,
  `${tool.used} of ${tool.limit}`,
  formatRepeats(tool.streak),
  tool.max_calls === null ? '' : `${tool.calls ?? 0} of ${tool.max_calls}`,
  toPlainText(tool.last_error),
];

const describeState = ({ exhausted, running, failing }: SessionTool): string => {
  if (exhausted) return 'blocked';
  if (running > 0) return `${running} running`;
  return failing ? 'failing' : 'fine';
};

const formatRepeats = ({ failed, same_answer: same }: SessionTool['streak']): string => {
  if (failed > 1) return `failed ${failed}x`;
  return same > 1 ? `same ${same}x` : '';
};

const TIMELINE: readonly Column[] = [
  ['step', 'right'],
  ['tool', 'left'],
  ['outcome', 'left'],
  ['code', 'left'],
  ['left', 'right'],
  ['time', 'right'],
  ['message', 'left'],
];

const MAX_NAME = 32;

/** The calls of a session as a table, oldest first; what came late stands below its call. `width` in columns of text. */
export const formatTimeline = ({ calls }: Pick<SessionView, 'calls'>, width: number): string => {
  const [first] = calls;
  if (first === undefined) return 'The journal is empty.';
  const table = formatTable(
    TIMELINE,
    calls.flatMap((call) =>
      call.late === undefined ? [formatCallRow(call)] : [formatCallRow(call), formatLateRow(call, call.late)],
    ),
    width,
  );
  return first.step > 1 ? `(earlier calls are no longer in the journal)\n${table}` : table;
};

const formatCallRow = (call: JournalEntry): readonly string[] => [
  String(call.step),
  formatName(call.tool),
  call.outcome,
  call.code ?? '',
  call.retries_left === null ? '' : String(call.retries_left),
  formatDuration(call.duration_ms),
  `${call.replayed === true ? '(replayed) ' : ''}${call.repeats === undefined ? '' : `(${call.repeats} times) `}${toPlainText(call.message)}`,
];

const formatLateRow = (call: JournalEntry, late: LateResult): readonly string[] => [
  '',
  '└ late',
  late.outcome,
  late.code ?? '',
  '',
  `+${formatDuration(Math.max(0, Date.parse(late.time) - Date.parse(call.time)))}`,
  toPlainText(late.message),
];

/** A tool's name for a cell of a table. */
const formatName = (tool: string | null): string =>
  tool === null ? '(none)' : cutToColumns(toPlainText(tool), MAX_NAME);

const formatDuration = (ms: number): string => {
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
};
