import type { RoundJournal } from '../executor/journal/round-lines.ts';
import type { AskedTool, Budget } from '../executor/session-store.ts';
import { tenantOfKey, textBytes } from '../memory/bounded-store.ts';
import type { StoreMemory } from '../memory/store-memory.ts';
import { EQUAL_WITHIN, toJournalText, toRepeated, toRepeatKey } from './journal-lines.ts';

/** A round that is to be kept: the last `lines` lines of its journal, and what its tools have left after it. */
type JournalRound = {
  readonly journal: RoundJournal;
  readonly lines: number;
  readonly tools: readonly AskedTool[];
  readonly budgets: ReadonlyMap<string, Budget>;
};

/** The journals of sessions in this process. */
export type MemoryJournals = {
  readonly append: (sessionKey: string, lines: readonly string[]) => void;
  readonly appendRound: (sessionKey: string, round: JournalRound) => void;
  /** Oldest first. */
  readonly read: (sessionKey: string) => readonly string[];
  readonly drop: (sessionKey: string) => void;
};

/** What was appended at once; rendered when it is read. `lines` are the last ones of what `read` gives. */
type Chunk = { readonly lines: number; readonly bytes: number; read(): readonly string[] };
/** `refused`: how many lines at its end are of refused calls, or late results among these. */
type Journal = { readonly chunks: Chunk[]; lines: number; bytes: number; refused: number };

// The journal, its array with room to grow; a chunk; a number that a chunk keeps for each of its tools.
const JOURNAL_BYTES = 128;
const CHUNK_BYTES = 130;
const LEFT_BYTES = 16;

// A round is kept as it is while it takes no more than about what its lines would.
const BYTES_A_LINE = 1024;

/** Keeps the last `maxLines` lines of each session, in the store `journals`: a tenant's that was written least recently goes first. */
export const createMemoryJournals = (
  maxLines: number,
  { memory, now }: { readonly memory: StoreMemory; readonly now: () => number },
): MemoryJournals => {
  const journals = memory.open<Journal>('journals', { tenantOf: tenantOfKey, ttl: null, now });
  const change = (sessionKey: string, add: (journal: Journal) => void): void => {
    const before = journals.get(sessionKey);
    const journal = before ?? { chunks: [], lines: 0, bytes: JOURNAL_BYTES, refused: 0 };
    add(journal);
    dropSurplus(journal, maxLines);
    if (before === undefined) journals.set(sessionKey, journal, journal.bytes);
    else journals.weigh(sessionKey, journal.bytes);
  };
  return {
    append: (sessionKey, lines) => {
      if (maxLines > 0 && lines.length > 0) change(sessionKey, (journal) => addLate(journal, toTextChunk(lines)));
    },
    appendRound: (sessionKey, round) => {
      if (maxLines > 0) change(sessionKey, (journal) => addRound(journal, round));
    },
    read: (sessionKey) => {
      const chunks = journals.peek(sessionKey)?.chunks ?? [];
      return chunks.flatMap((chunk) => chunk.read().slice(-chunk.lines)).slice(-maxLines);
    },
    drop: (sessionKey) => void journals.delete(sessionKey),
  };
};

const add = (journal: Journal, chunk: Chunk): void => {
  journal.chunks.push(chunk);
  journal.lines += chunk.lines;
  journal.bytes += chunk.bytes;
};

const addLate = (journal: Journal, chunk: Chunk): void => {
  add(journal, chunk);
  if (journal.refused > 0) journal.refused += chunk.lines;
};

const addRound = (journal: Journal, round: JournalRound): void => {
  const { refused } = round.journal;
  if (refused === 0) {
    add(journal, toRoundChunk(round));
    journal.refused = 0;
    return;
  }
  const lines = new RoundChunk(round, 0).read().slice(-round.lines);
  const others = lines.slice(0, -refused);
  if (others.length > 0) {
    add(journal, toTextChunk(others));
    journal.refused = 0;
  }
  for (const line of lines.slice(-refused)) addRefused(journal, line);
};

/** Takes the place of an equal call that was refused a little before. */
const addRefused = (journal: Journal, line: string): void => {
  const key = toRepeatKey(line);
  const { chunks } = journal;
  const isEqual = (chunk: Chunk): boolean => key !== null && toRepeatKey(chunk.read()[0] ?? '') === key;
  // Each of these chunks is one line.
  const first = chunks.length - Math.min(journal.refused, EQUAL_WITHIN);
  const found = chunks.slice(first).findLastIndex(isEqual);
  const [former] = found === -1 ? [] : chunks.splice(first + found, 1);
  if (former !== undefined) {
    journal.lines -= 1;
    journal.refused -= 1;
    journal.bytes -= former.bytes;
  }
  add(journal, toTextChunk([former === undefined ? line : toRepeated(line, former.read()[0] ?? '')]));
  journal.refused += 1;
};

const toRoundChunk = (round: JournalRound): Chunk => {
  const { journal, lines, tools } = round;
  const chunk = new RoundChunk(round, CHUNK_BYTES + journal.bytes + 2 * tools.length * LEFT_BYTES);
  return journal.bytes > lines * BYTES_A_LINE ? toTextChunk(chunk.read().slice(-lines)) : chunk;
};

/** A round as it was reported, with what each of its tools had left after it. */
class RoundChunk implements Chunk {
  readonly lines: number;
  readonly bytes: number;
  readonly #journal: RoundJournal;
  readonly #names: string[] = [];
  readonly #left: (number | null)[] = [];

  constructor({ journal, lines, tools, budgets }: JournalRound, bytes: number) {
    this.lines = lines;
    this.bytes = bytes;
    this.#journal = journal;
    for (const { name } of tools) {
      this.#names.push(name);
      this.#left.push(budgets.get(name)?.remaining ?? null);
    }
  }

  read(): readonly string[] {
    const leftOf = (tool: string): number | null => this.#left[this.#names.indexOf(tool)] ?? null;
    return this.#journal.render().map((line) => toJournalText(line, leftOf));
  }
}

/** Lines as one flat text, for they are ropes and slices that keep what they were cut from; JSON has no line breaks. */
const toTextChunk = (added: readonly string[]): Chunk => {
  const text = [...added, ''].join('\n');
  const bytes = CHUNK_BYTES + textBytes(text);
  return { lines: added.length, bytes, read: () => text.split('\n').slice(0, -1) };
};

// What is read may begin in the middle of the first chunk. The last call that was not refused stays: the next one goes.
const dropSurplus = (journal: Journal, maxLines: number): void => {
  for (;;) {
    const at = toSurplus(journal);
    const dropped = journal.chunks[at];
    if (dropped === undefined || journal.lines - dropped.lines < maxLines) return;
    journal.chunks.splice(at, 1);
    journal.lines -= dropped.lines;
    journal.bytes -= dropped.bytes;
    if (at > 0) journal.refused -= dropped.lines;
  }
};

const toSurplus = ({ chunks, lines, refused }: Journal): 0 | 1 => {
  const firstHasCause = refused < lines && refused >= lines - (chunks[0]?.lines ?? 0);
  return firstHasCause ? 1 : 0;
};
