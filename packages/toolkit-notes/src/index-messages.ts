import type { FileAccess } from '@recourse/toolkit-kit/directories';
import type { Term } from './note-text.ts';

type Span = { readonly folder: string; readonly offset: number; readonly limit: number };

/** What the index of notes is asked. */
export type Question =
  | { readonly kind: 'prepare' }
  | ({ readonly kind: 'list' } & Span)
  | ({ readonly kind: 'search'; readonly terms: readonly Term[]; readonly wantsAny: boolean } & Span)
  | { readonly kind: 'suggest'; readonly wanted: string; readonly most: number };

/** To the thread. `root` is a real path, and may be another one each time. */
export type IndexRequest = { readonly root: string; readonly question: Question };

/** A note in a list. */
export type ListedNote = {
  readonly path: string;
  readonly title: string;
  readonly modifiedMs: number;
  readonly size: number;
};

type NotesPage<Note> = {
  readonly items: readonly Note[];
  readonly hasMore: boolean;
  /** Whether every note of the directory is in the index. */
  readonly isComplete: boolean;
};

/** From the thread, of the kind of the question; `unreadable`: the root cannot be read, with the system's code. */
export type IndexAnswer =
  | { readonly kind: 'prepare'; readonly notes: number; readonly ms: number }
  | ({ readonly kind: 'list' } & NotesPage<ListedNote>)
  | ({ readonly kind: 'search'; readonly matched: 'all' | 'any' } & NotesPage<
      ListedNote & { readonly snippet: string }
    >)
  | { readonly kind: 'suggest'; readonly paths: readonly string[] }
  | { readonly kind: 'unreadable'; readonly code: string };

/** From the thread without a question: how far the indexing is, and what the log should say. */
export type IndexNews =
  | { readonly kind: 'progress'; readonly done: number; readonly total: number }
  | { readonly kind: 'notice'; readonly notice: 'too_many_notes' | 'too_much_text'; readonly most: number };

/** What the thread is started with: how it keeps to the directory. */
export type IndexSetup = { readonly access: FileAccess };
