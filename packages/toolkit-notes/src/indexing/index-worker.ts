import { parentPort, workerData } from 'node:worker_threads';
import type { FromThread, ToThread } from '@recourse/toolkit-kit/directories';
import { findNearestNames } from '@recourse/toolkit-kit/page-answers';
import type { IndexAnswer, IndexNews, IndexRequest, IndexSetup, ListedNote, Question } from '../index-messages.ts';
import { toStem } from '../note-text.ts';
import { makeSnippet } from './make-snippet.ts';
import type { NoteDatabase } from './note-database.ts';
import {
  createIndexKeeper,
  createPace,
  INDEX_LIMITS,
  type NoteIndex,
  openNoteIndex,
  RootUnreadableError,
} from './note-index.ts';

// A suggestion is a courtesy: so many names take some 10 ms.
const MAX_NAMES = 5000;

/** Paths of notes that `wanted`, a path or a title, may have meant, the likelier ones first. */
const findNearNotes = (database: NoteDatabase, wanted: string, most: number): readonly string[] => {
  const name = wanted.toLowerCase();
  // Its file name elsewhere, or its title in place of its path, as it was sent or as if it were a path.
  const same = [toStem(name), name].flatMap((text) => database.findSame(text, most));
  if (same.length > 0) return [...new Set(same.map(({ path }) => path))].slice(0, most);
  const latest = database.findLatest(MAX_NAMES);
  const pathsOf = new Map<string, string>();
  for (const { path, title } of latest.toReversed()) {
    pathsOf.set(title, path);
    pathsOf.set(toStem(path), path);
    pathsOf.set(path, path);
  }
  const candidates = [
    ...findNearestNames(wanted, pathsOf.keys(), most),
    ...findNearestNames(toStem(wanted), pathsOf.keys(), most),
  ];
  return [...new Set(candidates.flatMap((candidate) => pathsOf.get(candidate) ?? []))].slice(0, most);
};

// The thread of the notes' index: requests in, answers out, one after the other. An error that is not expected here ends the
// thread, whose next start makes everything anew.
const post = (message: FromThread<IndexAnswer, IndexNews>): void => parentPort?.postMessage(message);
const noticed = new Set<string>();
const { access }: IndexSetup = workerData;

/** Each notice once. */
const report = (news: IndexNews): void => {
  if (news.kind === 'notice' && noticed.has(news.notice)) return;
  if (news.kind === 'notice') noticed.add(news.notice);
  post({ id: null, news });
};

const keeper = createIndexKeeper((root) =>
  openNoteIndex({ root, access }, { limits: INDEX_LIMITS, pace: createPace(), report }),
);

const answer = (index: NoteIndex, question: Question, askedMs: number): IndexAnswer => {
  const { database } = index;
  const isComplete = index.isComplete();
  const { kind } = question;
  switch (kind) {
    case 'prepare':
      return { kind, notes: index.count(), ms: performance.now() - askedMs };
    case 'list':
      return { kind, ...toPage(database.list(withOneMore(question)), question.limit), isComplete };
    case 'search': {
      const { matched, rows } = database.search(question, withOneMore(question));
      const { items, hasMore } = toPage(rows, question.limit);
      const toItem = (row: ListedNote) => ({ ...row, snippet: makeSnippet(index.textOf(row.path), question.terms) });
      return { kind, items: items.map(toItem), hasMore, matched, isComplete };
    }
    case 'suggest':
      return { kind, paths: findNearNotes(database, question.wanted, question.most) };
  }
};

// One more than wanted, to know whether there are more.
const withOneMore = <T extends { readonly limit: number }>(span: T): T => ({ ...span, limit: span.limit + 1 });

const toPage = <Row>(rows: readonly Row[], limit: number) => ({
  items: rows.slice(0, limit),
  hasMore: rows.length > limit,
});

const respond = async ({ root, question }: IndexRequest): Promise<IndexAnswer> => {
  const askedMs = performance.now();
  try {
    return answer(await keeper.freshIndex(root), question, askedMs);
  } catch (thrown) {
    if (!(thrown instanceof RootUnreadableError)) throw thrown;
    return { kind: 'unreadable', code: thrown.message };
  }
};

const onMessage = async ({ id, request }: ToThread<IndexRequest>): Promise<void> => {
  // A question that was begun is answered, wanted or not.
  if (request !== undefined) post({ id, answer: await respond(request) });
};

parentPort?.on('message', (message: ToThread<IndexRequest>) => void onMessage(message));
