import { toDigest } from '../../json/canonical-text.ts';
import { textBytes } from '../../memory/text-bytes.ts';
import { type AskedEntry, readEntries, toAskedEntry, toBody, toGivenText } from './asked-entry.ts';
import {
  type ArgumentsText,
  type JournalCall,
  type JournalHead,
  type JournalRedactor,
  PLAIN_SUCCESS,
  toJournalHead,
  toJournalLine,
} from './journal-line.ts';
import { type PackedCall, packRound, readPackedRound } from './packed-round.ts';
import { PlainCalls } from './plain-calls.ts';
import type { JournalLine, RoundJournal, UnpackRound } from './round-lines.ts';

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
  readonly calls: readonly JournalCall[] | PlainCalls;
  readonly redactor: JournalRedactor;
};

// Measured with --expose-gc on stores filled to their limit (store-weights.test.ts).
const ROUND_BYTES = 420;
const CALL_BYTES = 110;
const PLAIN_CALL_BYTES = 24;
const END_BYTES = 90;

/**
 * The lines of a round, rendered from the text of its body when they are asked for: until then a call costs its part of
 * that text and a small record. What looks like holding a secret is rendered at once, so that what was found is counted when
 * it came and is not kept; a secret that the text holds in escapes is found when the lines are rendered.
 */
export const createRoundJournal = (round: WrittenRound): SettlingJournal => new LazyJournal(round);

// A class: four functions of its own would take as much of the heap as all that a small round keeps.
class LazyJournal implements SettlingJournal {
  readonly lines: number;
  /** null once the journal is released. */
  #round: WrittenRound | null;
  #kept: KeptJournal | null = null;

  constructor(round: WrittenRound) {
    this.lines = round.calls.length;
    this.#round = round;
  }

  get bytes(): number {
    return this.#keep().bytes;
  }

  render(): readonly JournalLine[] {
    return this.#keep().render();
  }

  pack(): string | null {
    if (this.#round === null) return null;
    const packed = packPlain(this.#round);
    // Another process reads it now.
    if (packed !== null) this.#kept ??= NOTHING_KEPT;
    return packed;
  }

  release(): void {
    this.#keep().release();
    this.#round = null;
  }

  #keep(): KeptJournal {
    this.#kept ??= this.#round === null ? NOTHING_KEPT : toKept(this.#round);
    return this.#kept;
  }
}

/** The lines of rounds that were packed. */
export const createUnpackRound =
  (redactor: Pick<JournalRedactor, 'cut'>): UnpackRound =>
  (packed) => {
    const round = readPackedRound(packed);
    if (round === null) return [];
    const [step, time, requestId, packedCalls] = round;
    const calls = packedCalls.map(toPlainCall);
    const entries = new Map(packedCalls.map(([index, id, name, , given]) => [index, { id, name, given }]));
    const batch = toReadBatch(entries.size, (index) => entries.get(index) ?? toAskedEntry(null), calls);
    return toLines({ step, time, requestId, calls, redactor }, batch);
  };

/** What a process keeps of a round. */
type KeptJournal = Pick<SettlingJournal, 'bytes' | 'render' | 'release'>;

const NOTHING_KEPT: KeptJournal = { bytes: 0, render: () => [], release: () => undefined };

const toKept = (round: WrittenRound): KeptJournal => {
  const { step, time, requestId, settling, calls, redactor } = round;
  const body = round.body ?? toBody(Array.from({ length: settling.size }, (_, index) => settling.entryOf(index)));
  const shared = { step, time, requestId, calls, redactor };
  if (body === null || mayHoldSecret(body, round)) return toWritten(toLines(shared, settling));
  return new UnwrittenRound(shared, body, toBytes(body, round), settling);
};

/** Keeps what its fields name, and the batch only until it is released. */
class UnwrittenRound implements KeptJournal {
  readonly bytes: number;
  readonly #round: Shared;
  readonly #body: string;
  #settling: SettlingBatch | null;

  constructor(round: Shared, body: string, bytes: number, settling: SettlingBatch) {
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

// A shared store keeps no more of a call than about what its line would take.
const PACKED_BYTES_A_LINE = 512;

/** The text of a round whose calls all went well; null where something of it is to be rendered and redacted at once. */
const packPlain = ({ step, time, requestId, body, settling, calls, redactor }: WrittenRound): string | null => {
  const most = PACKED_BYTES_A_LINE * calls.length;
  if (body !== null && body.length > ROUND_BYTES + most) return null;
  const packed: PackedCall[] = [];
  for (const call of toList(calls)) {
    const one = packCall(call, settling.entryOf(call.index));
    if (one === null) return null;
    packed.push(one);
  }
  const text = packRound([step, time, requestId, packed]);
  return text.length > ROUND_BYTES + most || redactor.mayHold(text) ? null : text;
};

// In a text that holds JSON a secret may stand in escapes, where nobody would find it.
const packCall = (call: JournalCall, { id, name, given }: AskedEntry): PackedCall | null => {
  const isPlain = call.kind === 'ready' && call.end === PLAIN_SUCCESS && call.readable && call.hiding === null;
  if (!isPlain || name === null || (typeof given === 'string' && given.includes('\\'))) return null;
  return [call.index, id, name, call.tool === name ? null : call.tool, given ?? null, toMs(call.durationMs)];
};

const toMs = (duration: number): number => Math.round(duration * 100) / 100;

const toPlainCall = ([index, , name, tool, , durationMs]: PackedCall): JournalCall => ({
  index,
  kind: 'ready',
  tool: tool ?? name,
  readable: true,
  hiding: null,
  end: PLAIN_SUCCESS,
  durationMs,
});

const toList = (calls: WrittenRound['calls']): readonly JournalCall[] =>
  calls instanceof PlainCalls ? calls.toList() : calls;

type Shared = Omit<WrittenRound, 'body' | 'settling'>;

const toLines = (
  round: Omit<Shared, 'redactor'> & Pick<JournalHead, 'redactor'>,
  batch: SettlingBatch,
): readonly JournalLine[] => {
  const head = toJournalHead(round.requestId, round);
  return toList(round.calls).map((call) =>
    toJournalLine(call, { asked: batch.entryOf(call.index), given: batch.argumentsOf(call.index) }, head),
  );
};

const readBatch = (body: string, calls: WrittenRound['calls']): SettlingBatch => {
  const entries = readEntries(body);
  return toReadBatch(entries.length, (index) => toAskedEntry(entries[index]), toList(calls));
};

const toReadBatch = (
  size: number,
  entryOf: (index: number) => AskedEntry,
  calls: readonly JournalCall[],
): SettlingBatch => {
  const callOf = new Map(calls.map((call) => [call.index, call]));
  const argumentsOf = (index: number): ArgumentsText | null => {
    const call = callOf.get(index);
    if (call?.kind !== 'ready') return null;
    const text = toGivenText(entryOf(index).given, call.readable);
    return { text, fingerprint: toDigest(`${call.tool}\n${text}`) };
  };
  return { size, entryOf, argumentsOf };
};

const toWritten = (lines: readonly JournalLine[]): KeptJournal => ({
  bytes: lines.reduce((sum, { json }) => sum + textBytes(json), ROUND_BYTES),
  render: () => lines,
  release: () => undefined,
});

const mayHoldSecret = (body: string, { requestId, calls, redactor }: WrittenRound): boolean => {
  if (redactor.mayHold(body) || redactor.mayHold(requestId)) return true;
  if (calls instanceof PlainCalls) return false;
  for (const { end } of calls) if (end.message !== '' && redactor.mayHold(end.message)) return true;
  return false;
};

const toBytes = (body: string, { requestId, calls }: WrittenRound): number => {
  let bytes = ROUND_BYTES + textBytes(body) + textBytes(requestId);
  if (calls instanceof PlainCalls) return bytes + calls.length * PLAIN_CALL_BYTES;
  bytes += calls.length * CALL_BYTES;
  for (const { end } of calls) if (end !== PLAIN_SUCCESS) bytes += END_BYTES + textBytes(end.message);
  return bytes;
};
