import { tenantOfKey } from '../memory/bounded-store.ts';
import type { StoreMemory } from '../memory/store-memory.ts';
import { textBytes } from '../memory/text-bytes.ts';

/** The journals of sessions in this process. */
export type MemoryJournals = {
  readonly append: (sessionKey: string, lines: readonly string[]) => void;
  /** Oldest first. */
  readonly read: (sessionKey: string) => readonly string[];
  readonly drop: (sessionKey: string) => void;
};

/** What was appended at once is one text, a line break after each line: JSON has none of its own. */
type Chunk = { readonly text: string; readonly lines: number };
type Journal = { readonly chunks: Chunk[]; lines: number; bytes: number };

// The journal, its array with room to grow, and a chunk without its text.
const JOURNAL_BYTES = 120;
const CHUNK_BYTES = 64;

/** Keeps the last `maxLines` lines of each session, in the store `journals`: a tenant's that was written least recently goes first. */
export const createMemoryJournals = (
  maxLines: number,
  { memory, now }: { readonly memory: StoreMemory; readonly now: () => number },
): MemoryJournals => {
  const journals = memory.open<Journal>('journals', { tenantOf: tenantOfKey, ttl: null, now });
  return {
    append: (sessionKey, added) => {
      if (maxLines === 0 || added.length === 0) return;
      const journal = journals.peek(sessionKey) ?? { chunks: [], lines: 0, bytes: JOURNAL_BYTES };
      // One flat text: the lines themselves are ropes, and slices that keep what they were cut from.
      const text = [...added, ''].join('\n');
      journal.chunks.push({ text, lines: added.length });
      journal.lines += added.length;
      journal.bytes += CHUNK_BYTES + textBytes(text);
      dropSurplus(journal, maxLines);
      journals.set(sessionKey, journal, journal.bytes);
    },
    read: (sessionKey) => {
      const chunks = journals.peek(sessionKey)?.chunks ?? [];
      const lines = chunks.flatMap(({ text }) => text.split('\n').slice(0, -1));
      return lines.slice(-maxLines);
    },
    drop: (sessionKey) => void journals.delete(sessionKey),
  };
};

// What is read may begin in the middle of the first chunk.
const dropSurplus = (journal: Journal, maxLines: number): void => {
  let [first] = journal.chunks;
  while (first !== undefined && journal.lines - first.lines >= maxLines) {
    journal.chunks.shift();
    journal.lines -= first.lines;
    journal.bytes -= CHUNK_BYTES + textBytes(first.text);
    [first] = journal.chunks;
  }
};
