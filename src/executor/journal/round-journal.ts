import { textBytes } from '../../memory/text-bytes.ts';
import type { Redactor } from '../redaction/redactor.ts';
import type { JournalLine, RoundJournal } from '../session-store.ts';
import { type AskedEntry, readEntries, toAskedEntry, toBody } from './asked-entry.ts';
import { type JournalCall, type JournalEnd, toJournalHead, toJournalLine } from './journal-line.ts';

/** A round of which the journal is to tell. */
export type WrittenRound = {
  readonly step: number;
  /** Unix milliseconds. */
  readonly time: number;
  readonly requestId: string;
  /**
   * What was asked for: a text whose member `calls` holds all entries of the batch as they were asked for, or, where there
   * is none, the entries with their arguments as they are read.
   */
  readonly asked: string | (() => readonly AskedEntry[]);
  /** Those that get a line, in the order of the batch; at least one. */
  readonly calls: readonly JournalCall[];
  readonly redactor: Pick<Redactor, 'cut' | 'mayHold'>;
};

/** The end of a call of which there is nothing to tell but that it went well: one for all of them. */
export const PLAIN_SUCCESS: JournalEnd = {
  success: true,
  outcome: 'success',
  executed: 'yes',
  code: null,
  fault: null,
  message: '',
  replayed: false,
};

// Measured with --expose-gc on stores filled to their limit (store-weights.test.ts).
const ROUND_BYTES = 300;
const CALL_BYTES = 110;
const END_BYTES = 90;

/**
 * The lines of a round, rendered from the text of its body when they are asked for: until then a call costs its part of
 * that text and a small record. What looks like holding a secret is rendered at once, so that what was found is counted when
 * it came and is not kept; a secret that the text holds in escapes is found when the lines are rendered.
 */
export const createRoundJournal = (round: WrittenRound): RoundJournal => {
  const { step, time, requestId, asked, calls, redactor } = round;
  const body = typeof asked === 'string' ? asked : toBody(asked());
  const shared = { step, time, requestId, calls, redactor };
  if (body === null) return toWritten(toLines(shared, typeof asked === 'string' ? [] : asked()));
  const render = (): readonly JournalLine[] => toLines(shared, readEntries(body).map(toAskedEntry));
  if (mayHoldSecret(body, round)) return toWritten(render());
  return { lines: calls.length, bytes: toBytes(body, round), render };
};

type Shared = Omit<WrittenRound, 'asked'>;

const NOTHING_ASKED: AskedEntry = { id: null, name: null, given: undefined };

const toLines = (round: Shared, entries: readonly AskedEntry[]): readonly JournalLine[] => {
  const head = toJournalHead(round.requestId, round);
  return round.calls.map((call) => toJournalLine(call, entries[call.index] ?? NOTHING_ASKED, head));
};

const toWritten = (lines: readonly JournalLine[]): RoundJournal => ({
  lines: lines.length,
  bytes: lines.reduce((sum, { json }) => sum + textBytes(json), ROUND_BYTES),
  render: () => lines,
});

const mayHoldSecret = (body: string, { requestId, calls, redactor }: WrittenRound): boolean => {
  if (redactor.mayHold(body) || redactor.mayHold(requestId)) return true;
  for (const { end } of calls) if (end.message !== '' && redactor.mayHold(end.message)) return true;
  return false;
};

const toBytes = (body: string, { requestId, calls }: WrittenRound): number => {
  let bytes = ROUND_BYTES + textBytes(body) + textBytes(requestId) + calls.length * CALL_BYTES;
  for (const { end } of calls) if (end !== PLAIN_SUCCESS) bytes += END_BYTES + textBytes(end.message);
  return bytes;
};
