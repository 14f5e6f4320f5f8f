import { type FileAccess, locateThread, probeFileAccess, RequestThread } from '@recourse/toolkit-kit/directories';
import { RetryableToolError, UpstreamToolError } from 'recourse-server';
import type { ExtensionLog, ToolContext } from 'recourse-server/extension';
import type { IndexAnswer, IndexNews, IndexRequest, IndexSetup, Question } from './index-messages.ts';

const INDEX_WORKER = locateThread('./indexing/index-worker', import.meta.url);

type Asking = Pick<ToolContext, 'signal' | 'progress'> & {
  /** The directory of notes, a real path. */
  readonly root: string;
};

type QuestionOf<Kind> = Omit<Extract<Question, { readonly kind: Kind }>, 'kind'>;
type AnswerOf<Kind> = Extract<IndexAnswer, { readonly kind: Kind }>;

// The thread answers some fifty to two hundred a second.
const MOST_WAITING = 100;
const RETRY_AFTER_MS = 1000;

export type NotesIndex = ReturnType<typeof createNotesIndex>;

/**
 * The searchable notes of one directory, kept in a thread of their own: SQLite is synchronous, and the service's event loop
 * must never wait. A question waits for the first indexing, and rejects with the signal's reason, with a
 * RetryableToolError where the directory cannot be read, and with an UpstreamToolError where the thread dies (the next
 * question starts it again) or too many wait already.
 */
export const createNotesIndex = (
  log: ExtensionLog,
  {
    access = probeFileAccess(),
    worker = INDEX_WORKER,
  }: {
    /** How the notes keep to their directory; left out: what this system offers. */
    readonly access?: FileAccess | undefined;
    /** For tests: another file to run as the thread. */
    readonly worker?: URL;
  } = {},
) => {
  const listeners = new Set<(done: number, total: number) => void>();

  const onNews = (news: IndexNews): void => {
    if (news.kind === 'notice') log.warn({ most: news.most }, NOTICES[news.notice]);
    else for (const listen of listeners) listen(news.done, news.total);
  };

  const thread = new RequestThread<IndexRequest, IndexAnswer, IndexNews>({
    file: worker,
    name: 'notes-index',
    workerData: { access } satisfies IndexSetup,
    // The thread cannot break off what it has begun.
    mostRunning: 1,
    onNews,
    onDeath: (reason = 'it was stopped') =>
      log.error({ reason: String(reason) }, 'the index of notes stopped; the next call restarts it'),
    createStoppedError,
  });

  const ask = async <Kind extends Question['kind']>(
    question: Question & { readonly kind: Kind },
    { root, signal, progress }: Asking,
  ): Promise<AnswerOf<Kind>> => {
    if (thread.waiting >= MOST_WAITING) throw createBusyError();
    const listen = createProgressListener(progress);
    listeners.add(listen);
    const answer = await thread.request({ root, question }, signal).finally(() => listeners.delete(listen));
    if (isOf(question.kind, answer)) return answer;
    throw answer.kind === 'unreadable' ? createUnreadableError(answer.code) : new TypeError('wrong kind of answer');
  };

  return {
    /** Resolves once all notes are indexed. */
    prepare: (asking: Asking) => ask({ kind: 'prepare' }, asking),
    list: (question: QuestionOf<'list'>, asking: Asking) => ask({ kind: 'list', ...question }, asking),
    search: (question: QuestionOf<'search'>, asking: Asking) => ask({ kind: 'search', ...question }, asking),
    suggest: (question: QuestionOf<'suggest'>, asking: Asking) => ask({ kind: 'suggest', ...question }, asking),
    close: thread.close,
  };
};

const isOf = <Kind extends Question['kind']>(kind: Kind, answer: IndexAnswer): answer is AnswerOf<Kind> =>
  answer.kind === kind;

/** Progress rises, though a call may wait for two scans. */
const createProgressListener = (progress: ToolContext['progress']) => {
  let reported = 0;
  return (done: number, total: number): void => {
    if (done <= reported) return;
    reported = done;
    progress({ progress: done, total, message: 'Indexing notes' });
  };
};

const NOTICES = {
  too_many_notes: 'some notes are not indexed: too many, nested too deep, or names that are not UTF-8',
  too_much_text:
    'the text of some notes is not indexed: the size limit is reached, and further notes are found only by title and path',
} as const;

const createStoppedError = (): UpstreamToolError =>
  new UpstreamToolError('upstream_unavailable', 'The index of notes stopped before it answered. Call again.', {
    executed: 'maybe',
  });

const createBusyError = (): UpstreamToolError =>
  new UpstreamToolError(
    'upstream_rate_limited',
    'Too many calls are waiting for the index of notes. Call again in a second.',
    { executed: 'no', retryAfterMs: RETRY_AFTER_MS },
  );

const createUnreadableError = (code: string): RetryableToolError =>
  new RetryableToolError(
    `Notes not available: the directory in NOTES_DIR cannot be read (${code}). Set NOTES_DIR to a directory of Markdown files.`,
  );
