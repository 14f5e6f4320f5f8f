import * as z from 'zod';
import { parseJson } from '../json/parse-json.ts';
import { textBytes } from '../memory/bounded-store.ts';
import {
  type BatchEntries,
  type BatchEntry,
  type JournalCall,
  type JournalCalls,
  type JournalRound,
  PLAIN_SUCCESS,
  PlainCalls,
  readEntries,
  toBatchEntry,
  toEntries,
  toHundredths,
  toLines,
  toList,
} from './journal-line.ts';
import type { JournalLine, RoundJournal, UnpackRound } from './session-store.ts';

/** A round whose lines are written later. */
export type WrittenRound = JournalRound & {
  /** The text whose member `calls` holds all entries of the batch as they were sent; null where there is none. */
  readonly body: string | null;
  /** `mayHold`: whether a text may hold what `cut` replaces. */
  readonly redactor: { readonly mayHold: (text: string) => boolean };
};

/** A journal that is to be released when the store has been told of the round: what it keeps is small from then on. */
export type SettlingJournal = RoundJournal & { readonly release: () => void };

// Measured with --expose-gc on stores filled to their limit (store-weights.test.ts).
const ROUND_BYTES = 428;
const CALL_BYTES = 110;
const PLAIN_CALL_BYTES = 24;
const END_BYTES = 90;

/**
 * The lines of a round, rendered from the text of its body when they are asked for: until then a call costs its part of
 * that text and a small record. What looks like holding a secret is rendered at once, so that what was found is counted when
 * it came and is not kept; a secret that the text holds in escapes is found when the lines are rendered.
 */
export const createRoundJournal = (round: WrittenRound, entries: BatchEntries): SettlingJournal =>
  new LazyJournal(round, entries);

/**
 * | state    | round | entries | body | written | lines come from                  |
 * |----------|-------|---------|------|---------|----------------------------------|
 * | new      | yes   | yes     |      |         |                                  |
 * | lazy     | yes   | yes     | yes  |         | the batch                        |
 * | released | yes   |         | yes  |         | the body, read again             |
 * | written  |       |         |      | yes     | what was rendered                |
 * | packed   |       |         |      | none    | another process                  |
 *
 * A class: functions of its own would take as much of the heap as all that a small round keeps.
 */
class LazyJournal implements SettlingJournal {
  readonly lines: number;
  readonly refused: number;
  #round: WrittenRound | null;
  #entries: BatchEntries | null;
  #body: string | null = null;
  #written: readonly JournalLine[] | null = null;
  #bytes = 0;

  constructor(round: WrittenRound, entries: BatchEntries) {
    this.lines = round.calls.length;
    this.refused = countRefused(round.calls);
    this.#round = round;
    this.#entries = entries;
  }

  get bytes(): number {
    this.#decide();
    return this.#bytes;
  }

  render(): readonly JournalLine[] {
    this.#decide();
    if (this.#written !== null || this.#round === null || this.#body === null) return this.#written ?? [];
    return toLines(this.#round, this.#entries ?? readEntriesOf(this.#body, this.#round.calls));
  }

  pack(): string | null {
    const packed = this.#round === null || this.#entries === null ? null : packPlain(this.#round, this.#entries);
    if (packed !== null && this.#body === null) this.#write([], 0);
    return packed;
  }

  release(): void {
    this.#decide();
    this.#entries = null;
  }

  #decide(): void {
    if (this.#round === null || this.#entries === null || this.#body !== null) return;
    const body = this.#round.body ?? toBody(this.#entries);
    if (body === null || mayHoldSecret(body, this.#round)) {
      const lines = toLines(this.#round, this.#entries);
      this.#write(
        lines,
        lines.reduce((sum, { json }) => sum + textBytes(json), ROUND_BYTES),
      );
      return;
    }
    this.#body = body;
    this.#bytes = toBytes(body, this.#round);
  }

  #write(lines: readonly JournalLine[], bytes: number): void {
    this.#written = lines;
    this.#bytes = bytes;
    this.#round = null;
    this.#entries = null;
  }
}

const countRefused = (calls: JournalCalls): number => {
  if (calls instanceof PlainCalls) return 0;
  return calls.length - 1 - calls.findLastIndex(({ end }) => end.outcome !== 'refused');
};

const mayHoldSecret = (body: string, { requestId, calls, redactor }: WrittenRound): boolean => {
  if (redactor.mayHold(body) || redactor.mayHold(requestId)) return true;
  return !(calls instanceof PlainCalls) && calls.some(({ end }) => end.message !== '' && redactor.mayHold(end.message));
};

const toBytes = (body: string, { requestId, calls }: WrittenRound): number => {
  let bytes = ROUND_BYTES + textBytes(body) + textBytes(requestId);
  if (calls instanceof PlainCalls) return bytes + calls.length * PLAIN_CALL_BYTES;
  bytes += calls.length * CALL_BYTES;
  for (const { end } of calls) if (end !== PLAIN_SUCCESS) bytes += END_BYTES + textBytes(end.message);
  return bytes;
};

/** A body of these entries, which reads as they do; null where they are nested too deep to be written. */
const toBody = (entries: BatchEntries): string | null => {
  const calls = Array.from({ length: entries.size }, (_, index) => {
    const { id, name, rawArguments } = entries.entryOf(index);
    return { id, name, arguments: rawArguments };
  });
  try {
    return JSON.stringify({ calls });
  } catch (_deep) {
    return null;
  }
};

const readEntriesOf = (body: string, calls: JournalCalls): BatchEntries => {
  const entries = readEntries(body);
  return toEntries(entries.length, (index) => toBatchEntry(entries[index]), toList(calls));
};

/**
 * The round as a shared store keeps it, in one line: its step, its time in Unix milliseconds, its request id, and its calls,
 * which went well and have nothing to hide: index, id, name, tool (null where it was called by that name), arguments as they
 * were sent, and how many milliseconds it took.
 */
const PackedRound = z.tuple([
  z.int().nonnegative(),
  z.number(),
  z.string(),
  z.array(
    z.tuple([
      z.int().nonnegative(),
      z.union([z.string(), z.number()]).nullable(),
      z.string(),
      z.string().nullable(),
      z.unknown(),
      z.number(),
    ]),
  ),
]);
type PackedRound = z.infer<typeof PackedRound>;
type PackedCall = PackedRound[3][number];

// A shared store keeps no more of a call than about what its line would take.
const PACKED_BYTES_A_LINE = 512;

/** The text of a round whose calls all went well; null where something of it is to be rendered and redacted at once. */
const packPlain = (
  { step, time, requestId, body, calls, redactor }: WrittenRound,
  entries: BatchEntries,
): string | null => {
  const most = ROUND_BYTES + PACKED_BYTES_A_LINE * calls.length;
  if (body !== null && body.length > most) return null;
  const packed: PackedCall[] = [];
  for (const call of toList(calls)) {
    const one = packCall(call, entries.entryOf(call.index));
    if (one === null) return null;
    packed.push(one);
  }
  // Its arguments are those that were read, so they are not nested too deep.
  const text = JSON.stringify([step, time, requestId, packed] satisfies PackedRound);
  return text.length > most || redactor.mayHold(text) ? null : text;
};

// In a text that holds JSON a secret may stand in escapes, where it would not be found.
const packCall = (call: JournalCall, { id, name, rawArguments }: BatchEntry): PackedCall | null => {
  const isPlain = call.kind === 'ready' && call.end === PLAIN_SUCCESS && call.readable && call.hiding === null;
  if (!isPlain || name === null || (typeof rawArguments === 'string' && rawArguments.includes('\\'))) return null;
  return [
    call.index,
    id,
    name,
    call.tool === name ? null : call.tool,
    rawArguments ?? null,
    toHundredths(call.durationMs),
  ];
};

/** The lines of rounds that were packed; none of a text that is no round, for another version may have written it. */
export const createUnpackRound =
  (redactor: JournalRound['redactor']): UnpackRound =>
  (packed) => {
    const parsed = parseJson(packed);
    const read = parsed.ok ? PackedRound.safeParse(parsed.value) : null;
    if (read?.success !== true) return [];
    const [step, time, requestId, packedCalls] = read.data;
    const calls = packedCalls.map(
      ([index, , name, tool, , durationMs]): JournalCall => ({
        index,
        kind: 'ready',
        tool: tool ?? name,
        readable: true,
        hiding: null,
        end: PLAIN_SUCCESS,
        durationMs,
      }),
    );
    const entries = new Map(
      packedCalls.map(([index, id, name, , rawArguments]) => [index, { id, name, rawArguments }]),
    );
    const entryOf = (index: number): BatchEntry => entries.get(index) ?? toBatchEntry(null);
    return toLines({ step, time, requestId, calls, redactor }, toEntries(entries.size, entryOf, calls));
  };
