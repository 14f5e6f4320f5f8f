import type { JournalEntry, LateResult, SessionView } from '../../contract/session.ts';
import { cutToColumns, toPlainText } from '../terminal/plain-text.ts';
import { type Column, toTable } from './to-table.ts';

const COLUMNS: readonly Column[] = [
  { title: 'step', align: 'right' },
  { title: 'tool', align: 'left' },
  { title: 'outcome', align: 'left' },
  { title: 'code', align: 'left' },
  { title: 'left', align: 'right' },
  { title: 'time', align: 'right' },
  { title: 'message', align: 'left' },
];

const MAX_NAME = 32;

/** The calls of a session as a table, oldest first; what came late stands below its call. `width` in columns of text. */
export const toTimeline = ({ calls }: Pick<SessionView, 'calls'>, width: number): string => {
  const [first] = calls;
  if (first === undefined) return 'There are no calls in its journal.';
  const table = toTable(
    COLUMNS,
    calls.flatMap((call) => (call.late === undefined ? [toRow(call)] : [toRow(call), toLateRow(call, call.late)])),
    width,
  );
  return first.step > 1 ? `(earlier calls have left the journal)\n${table}` : table;
};

const toRow = (call: JournalEntry): readonly string[] => [
  String(call.step),
  toName(call.tool),
  call.outcome,
  call.code ?? '',
  call.retries_left === null ? '' : String(call.retries_left),
  toDuration(call.duration_ms),
  `${call.replayed === true ? '(replayed) ' : ''}${toPlainText(call.message)}`,
];

const toLateRow = (call: JournalEntry, late: LateResult): readonly string[] => [
  '',
  '└ late',
  late.outcome,
  late.code ?? '',
  '',
  `+${toDuration(Math.max(0, Date.parse(late.time) - Date.parse(call.time)))}`,
  toPlainText(late.message),
];

/** A tool's name for a cell of a table. */
export const toName = (tool: string | null): string =>
  tool === null ? '(none)' : cutToColumns(toPlainText(tool), MAX_NAME);

const toDuration = (ms: number): string => {
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
};
