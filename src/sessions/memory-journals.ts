import { LRUCache } from 'lru-cache';
import type { SessionState } from './rules/session-state.ts';

/** The journals of sessions in this process. */
export type MemoryJournals = {
  readonly append: (session: SessionState, lines: readonly string[]) => void;
  /** Oldest first. */
  readonly read: (session: SessionState) => readonly string[];
  readonly drop: (session: SessionState) => void;
};

type Journal = { readonly lines: readonly string[] };

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
      const lines = [...(journals.peek(session)?.lines ?? []), ...added].slice(-maxLines);
      const characters = lines.reduce((sum, line) => sum + line.length, 0);
      journals.set(session, { lines }, { size: Math.max(1, characters) });
    },
    read: (session) => journals.peek(session)?.lines ?? [],
    drop: (session) => void journals.delete(session),
  };
};
