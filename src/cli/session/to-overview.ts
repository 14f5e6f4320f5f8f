import type { SessionTool, SessionView } from '../../contract/session.ts';
import { cutToColumns, toPlainText } from '../terminal/plain-text.ts';
import { type Column, toTable } from './to-table.ts';
import { toName } from './to-timeline.ts';

const MODES = {
  redis: 'kept in Redis',
  memory: 'kept in the memory of the service',
  local: 'kept in this replica alone: Redis is away',
} as const satisfies Record<SessionView['session']['mode'], string>;

const MAX_ID = 64;

/** What a session has used of its limits, its tools, and which reducers failed. */
export const toOverview = (id: string, view: SessionView, width: number): string => {
  const { session, tools, slice_errors: sliceErrors = {} } = view;
  const totals = [
    toCount(session.rounds, session.max_rounds, 'round'),
    toCount(session.calls, session.max_calls, 'call'),
    `${session.retries_used} of ${session.retries_limit} retries used`,
  ];
  const problems = Object.entries(sliceErrors).map(
    ([reducer, problem]) => `Reducer ${toPlainText(reducer)} failed: ${toPlainText(problem)}`,
  );
  return [
    `Session ${cutToColumns(toPlainText(id), MAX_ID)}, ${MODES[session.mode]}`,
    totals.join(', '),
    ...(view.truncated === true ? ['Calls are missing: their lines were dropped because Redis needed the room.'] : []),
    ...problems.map((problem) => cutToColumns(problem, width)),
    ...(tools.length === 0 ? [] : ['', toTable(COLUMNS, tools.map(toRow), width)]),
  ].join('\n');
};

/** Whether nothing at all is known of the session. */
export const isUnseen = ({ session, tools, calls }: SessionView): boolean =>
  session.rounds === 0 && tools.length === 0 && calls.length === 0;

const toCount = (count: number, limit: number | null, noun: string): string => {
  if (limit !== null) return `${count} of ${limit} ${noun}s`;
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
};

const COLUMNS: readonly Column[] = [
  { title: 'tool', align: 'left' },
  { title: 'state', align: 'left' },
  { title: 'failed', align: 'right' },
  { title: 'retries', align: 'right' },
  { title: 'repeats', align: 'left' },
  { title: 'calls', align: 'right' },
  { title: 'last error', align: 'left' },
];

const toRow = (tool: SessionTool): readonly string[] => [
  toName(tool.name),
  toState(tool),
  `${tool.failures}x`,
  `${tool.used} of ${tool.limit}`,
  toRepeats(tool.streak),
  tool.max_calls === null ? '' : `${tool.calls ?? 0} of ${tool.max_calls}`,
  toPlainText(tool.last_error),
];

const toState = ({ exhausted, running, failing }: SessionTool): string => {
  if (exhausted) return 'blocked';
  if (running > 0) return `${running} running`;
  return failing ? 'failing' : 'fine';
};

const toRepeats = ({ failed, same_answer: same }: SessionTool['streak']): string => {
  if (failed > 1) return `failed ${failed}x`;
  return same > 1 ? `same ${same}x` : '';
};
