import * as z from 'zod';
import { Term } from './note-text.ts';

const span = { folder: z.string(), offset: z.int().min(0), limit: z.int().min(1) };

/** What the index of notes is asked. */
export const Question = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('prepare') }),
  z.object({ kind: z.literal('list'), ...span }),
  z.object({ kind: z.literal('search'), ...span, terms: z.array(Term).readonly(), wantsAny: z.boolean() }),
  z.object({ kind: z.literal('suggest'), wanted: z.string(), most: z.int().min(1) }),
]);
export type Question = z.output<typeof Question>;

/** To the thread. `root` is a real path, and may be another one each time. */
export const IndexRequest = z.object({ id: z.int(), root: z.string(), question: Question });
export type IndexRequest = z.output<typeof IndexRequest>;

const listed = { path: z.string(), title: z.string(), modifiedMs: z.number(), size: z.number() };

/** isComplete: whether every note of the directory is in the index. */
const answered = { hasMore: z.boolean(), isComplete: z.boolean() };

export const ListAnswer = z.object({ ...answered, items: z.array(z.object(listed)) });
export const SearchAnswer = z.object({
  ...answered,
  items: z.array(z.object({ ...listed, snippet: z.string() })),
  matched: z.enum(['all', 'any']),
});
export const SuggestAnswer = z.object({ paths: z.array(z.string()) });
export const PrepareAnswer = z.object({ notes: z.int(), ms: z.number() });

export type ListAnswer = z.output<typeof ListAnswer>;
export type SearchAnswer = z.output<typeof SearchAnswer>;
export type SuggestAnswer = z.output<typeof SuggestAnswer>;
export type PrepareAnswer = z.output<typeof PrepareAnswer>;

/** What the thread is started with: how it keeps to the directory. */
export const IndexSetup = z.object({ access: z.enum(['descriptors', 'paths']) });
export type IndexSetup = z.output<typeof IndexSetup>;

/** From the thread: the answer to one request, how far the indexing is, and what people should know. */
export const IndexMessage = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('answer'), id: z.int(), answer: z.unknown() }),
  z.object({ kind: z.literal('unreadable'), id: z.int(), code: z.string() }),
  z.object({ kind: z.literal('progress'), done: z.int(), total: z.int() }),
  z.object({ kind: z.literal('notice'), notice: z.enum(['too_many_notes', 'too_much_text']), most: z.int() }),
]);
export type IndexMessage = z.output<typeof IndexMessage>;
