import { LRUCache } from 'lru-cache';
import type { SessionState } from './rules/session-state.ts';

/** The journals of sessions in this process. */
export type MemoryJournals = {
  readonly append: (session: SessionState, lines: readonly string[]) => void;
  /** Oldest first. */
  readonly read: (session: SessionState) => readonly string[];
  readonly drop: (session: SessionState) => void;
};

type Journal = { readonly lines: string[]; characters: number };

// 100 000 sessions of 200 lines would be some 10 GB.
const MAX_CHARACTERS = 64 * 1024 * 1024;

/**
 * Keeps the last `maxLines` lines of each session, and of all sessions together at most 64 Mi characters: the journal
 * that was written least recently goes first.
 */
export const createMemoryJournals = (maxLines: number, maxCharacters = MAX_CHARACTERS): MemoryJournals => {
  const journals = new LRUCache<SessionState, Journal>({ maxSize: maxCharacters });
  return {
    append: (session, added) => {
      if (maxLines === 0 || added.length === 0) return;
      const journal = journals.peek(session) ?? { lines: [], characters: 0 };
      journal.lines.push(...added);
      const dropped = journal.lines.splice(0, Math.max(0, journal.lines.length - maxLines));
      journal.characters += lengthOf(added) - lengthOf(dropped);
      // The cache goes on with the size that a value came with: what has grown must come anew, and not as the same.
      journals.set(session, { ...journal }, { size: Math.max(1, journal.characters) });
    },
    read: (session) => [...(journals.peek(session)?.lines ?? [])],
    drop: (session) => void journals.delete(session),
  };
};

const lengthOf = (lines: readonly string[]): number => lines.reduce((sum, line) => sum + line.length, 0);
