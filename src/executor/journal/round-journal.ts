import { toDigest } from '../../json/canonical-text.ts';
import { textBytes } from '../../memory/text-bytes.ts';
import { type AskedEntry, readEntries, toAskedEntry, toBody, toGivenText } from './asked-entry.ts';
import {
  type ArgumentsText,
  type JournalCall,
  type JournalEnd,
  type JournalRedactor,
  toJournalHead,
  toJournalLine,
} from './journal-line.ts';
import type { JournalLine, RoundJournal } from './round-lines.ts';

/** What a batch knows of its calls while it settles: rendered then, a line costs no second reading. */
export type SettlingBatch = {
  /** How many entries the batch has. */
  readonly size: number;
  /** An entry with its arguments as they are read. */
  readonly entryOf: (index: number) => AskedEntry;
  /** null unless the entry is a call that names a tool. */
  readonly argumentsOf: (index: number) => ArgumentsText | null;
};

/** A journal that is to be released when the store has been told of the round: what it keeps is small from then on. */
export type SettlingJournal = RoundJournal & { readonly release: () => void };

/** A round of which the journal is to tell. */
export type WrittenRound = {
  readonly step: number;
  /** Unix milliseconds. */
  readonly time: number;
  readonly requestId: string;
  /** The text whose member `calls` holds all entries of the batch as they were asked for; null where there is none. */
  readonly body: string | null;
  readonly settling: SettlingBatch;
  /** Those that get a line, in the order of the batch; at least one. */
  readonly calls: readonly JournalCall[];
  readonly redactor: JournalRedactor;
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
const ROUND_BYTES = 360;
const CALL_BYTES = 110;
const END_BYTES = 90;

/**
 * The lines of a round, rendered from the text of its body when they are asked for: until then a call costs its part of
 * that text and a small record. What looks like holding a secret is rendered at once, so that what was found is counted when
 * it came and is not kept; a secret that the text holds in escapes is found when the lines are rendered.
 */
export const createRoundJournal = (round: WrittenRound): SettlingJournal => {
  const { step, time, requestId, settling, calls, redactor } = round;
  const body = round.body ?? toBody(Array.from({ length: settling.size }, (_, index) => settling.entryOf(index)));
  const shared = { step, time, requestId, calls, redactor };
  if (body === null || mayHoldSecret(body, round)) return toWritten(toLines(shared, settling));
  return new UnwrittenRound(shared, body, toBytes(body, round), settling);
};

/** Keeps what its fields name, and the batch only until it is released. */
class UnwrittenRound implements SettlingJournal {
  readonly lines: number;
  readonly bytes: number;
  readonly #round: Shared;
  readonly #body: string;
  #settling: SettlingBatch | null;

  constructor(round: Shared, body: string, bytes: number, settling: SettlingBatch) {
    this.lines = round.calls.length;
    this.bytes = bytes;
    this.#round = round;
    this.#body = body;
    this.#settling = settling;
  }

  render(): readonly JournalLine[] {
    return toLines(this.#round, this.#settling ?? readBatch(this.#body, this.#round.calls));
  }

  release(): void {
    this.#settling = null;
  }
}

type Shared = Omit<WrittenRound, 'body' | 'settling'>;

const toLines = (round: Shared, batch: SettlingBatch): readonly JournalLine[] => {
  const head = toJournalHead(round.requestId, round);
  return round.calls.map((call) =>
    toJournalLine(call, { asked: batch.entryOf(call.index), given: batch.argumentsOf(call.index) }, head),
  );
};

const readBatch = (body: string, calls: readonly JournalCall[]): SettlingBatch => {
  const entries = readEntries(body);
  const callOf = new Map(calls.map((call) => [call.index, call]));
  const entryOf = (index: number): AskedEntry => toAskedEntry(entries[index]);
  const argumentsOf = (index: number): ArgumentsText | null => {
    const call = callOf.get(index);
    if (call?.kind !== 'ready') return null;
    const text = toGivenText(entryOf(index).given, call.readable);
    return { text, fingerprint: toDigest(`${call.tool}\n${text}`) };
  };
  return { size: entries.length, entryOf, argumentsOf };
};

const toWritten = (lines: readonly JournalLine[]): SettlingJournal => ({
  lines: lines.length,
  bytes: lines.reduce((sum, { json }) => sum + textBytes(json), ROUND_BYTES),
  render: () => lines,
  release: () => undefined,
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
