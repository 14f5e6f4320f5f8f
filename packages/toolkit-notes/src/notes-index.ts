import { type FileAccess, probeFileAccess } from '@recourse/toolkit-kit/directories';
import { RetryableToolError, UpstreamToolError } from 'recourse-server';
import type { ExtensionLog, ToolContext } from 'recourse-server/extension';
import { startThread } from 'recourse-server/files/own-thread';
import type * as z from 'zod';
import {
  IndexMessage,
  type IndexRequest,
  type IndexSetup,
  ListAnswer,
  PrepareAnswer,
  type Question,
  SearchAnswer,
  SuggestAnswer,
} from './index-messages.ts';

type IndexThread = {
  readonly send: (request: IndexRequest) => void;
  /** Whether somebody waits: a process that has nothing else to do may end otherwise. */
  readonly hold: (isAwaited: boolean) => void;
  readonly end: () => Promise<void>;
};

type IndexThreadOptions = {
  readonly file: URL;
  readonly setup: IndexSetup;
  readonly onMessage: (message: IndexMessage) => void;
  /** Once, when the thread is no more, whoever ended it. */
  readonly onEnd: (reason: string) => void;
};

const INDEX_WORKER = new URL(
  `./indexing/index-worker${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`,
  import.meta.url,
);

/** Starts the thread that searches notes: SQLite is synchronous, and the service's own event loop must never wait. */
const startIndexThread = ({ file, setup, onMessage, onEnd }: IndexThreadOptions): IndexThread => {
  const worker = startThread(file, {
    name: 'notes-index',
    workerData: setup,
    // Little is young here for long: 16 MB, the default, would only fill with what nobody needs any more. No limit of the
    // heap as a whole: passing it ends the process now and then, not the thread (nodejs/node#65019).
    resourceLimits: { maxYoungGenerationSizeMb: 4 },
  });
  let reason = 'it was stopped';
  let isEnding = false;
  worker.on('message', (message: unknown) => onMessage(IndexMessage.parse(message)));
  worker.on('error', (error: unknown) => {
    reason = String(error);
  });
  worker.once('exit', () => onEnd(reason));
  return {
    send: (request) => worker.postMessage(request),
    // A late answer must not let the process end before `end` has resolved.
    hold: (isAwaited) => (isAwaited || isEnding ? worker.ref() : worker.unref()),
    end: async () => {
      isEnding = true;
      await worker.terminate();
    },
  };
};

type Asking = Pick<ToolContext, 'signal' | 'progress'> & {
  /** The directory of notes, a real path. */
  readonly root: string;
};

type QuestionOf<Kind> = Omit<Extract<Question, { readonly kind: Kind }>, 'kind'>;

/**
 * The searchable notes of one directory, kept in a thread of their own. What is asked waits for the first indexing,
 * and rejects with the signal's reason, with a RetryableToolError where the directory cannot be read, and with an
 * UpstreamToolError where the thread dies (the next question starts it again) or too many wait already.
 */
export type NotesIndex = {
  /** Resolves once all notes are indexed. */
  readonly prepare: (asking: Asking) => Promise<PrepareAnswer>;
  readonly list: (question: QuestionOf<'list'>, asking: Asking) => Promise<ListAnswer>;
  readonly search: (question: QuestionOf<'search'>, asking: Asking) => Promise<SearchAnswer>;
  readonly suggest: (question: QuestionOf<'suggest'>, asking: Asking) => Promise<SuggestAnswer>;
  readonly close: () => Promise<void>;
};

type Waiting = {
  readonly request: IndexRequest;
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: unknown) => void;
  readonly progress: ToolContext['progress'];
  reported: number;
};

// The thread answers some fifty to two hundred a second.
const MOST_WAITING = 100;
const RETRY_AFTER_MS = 1000;

type NotesIndexOptions = {
  /** How the notes keep to their directory; left out: what this system offers. */
  readonly access?: FileAccess | undefined;
  /** For tests: another file to run as the thread. */
  readonly worker?: URL;
};

export const createNotesIndex = (
  log: ExtensionLog,
  { access = probeFileAccess(), worker = INDEX_WORKER }: NotesIndexOptions = {},
): NotesIndex => {
  const waiting = new Map<number, Waiting>();
  let thread: IndexThread | undefined;
  // The thread has one question at a time: what it has begun, nothing can call back.
  let runningId: number | undefined;
  let lastId = 0;
  let isClosed = false;

  const onEnd = (reason: string): void => {
    thread = undefined;
    runningId = undefined;
    if (!isClosed) log.error({ reason }, 'the index of notes stopped; the next call restarts it');
    for (const { reject } of waiting.values()) reject(toStopped());
    waiting.clear();
  };

  const onMessage = (message: IndexMessage): void => {
    deliver(message, waiting, log);
    if (!('id' in message)) return;
    runningId = undefined;
    forget(message.id);
  };

  /** The one that has waited longest; those given up are no longer among them. */
  const sendNext = (): void => {
    const [next] = waiting.values();
    if (next === undefined || runningId !== undefined || isClosed) return;
    thread ??= startIndexThread({ file: worker, setup: { access }, onMessage, onEnd });
    runningId = next.request.id;
    thread.send(next.request);
  };

  const forget = (id: number): void => {
    waiting.delete(id);
    sendNext();
    thread?.hold(waiting.size > 0);
  };

  const ask = (question: Question, { root, signal, progress }: Asking): Promise<unknown> => {
    if (isClosed) return Promise.reject(toStopped());
    if (waiting.size >= MOST_WAITING) return Promise.reject(toBusy());
    signal.throwIfAborted();
    lastId += 1;
    const id = lastId;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    waiting.set(id, { request: { id, root, question }, resolve, reject, progress, reported: 0 });
    sendNext();
    thread?.hold(true);
    const onAbort = (): void => {
      reject(signal.reason);
      forget(id);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    return promise.finally(() => signal.removeEventListener('abort', onAbort));
  };

  const askFor = async <Answer extends z.ZodType>(schema: Answer, question: Question, asking: Asking) =>
    schema.parse(await ask(question, asking));

  return {
    prepare: (asking) => askFor(PrepareAnswer, { kind: 'prepare' }, asking),
    list: (question, asking) => askFor(ListAnswer, { kind: 'list', ...question }, asking),
    search: (question, asking) => askFor(SearchAnswer, { kind: 'search', ...question }, asking),
    suggest: (question, asking) => askFor(SuggestAnswer, { kind: 'suggest', ...question }, asking),
    close: async () => {
      isClosed = true;
      await thread?.end();
    },
  };
};

const toStopped = (): UpstreamToolError =>
  new UpstreamToolError('upstream_unavailable', 'The index of notes stopped before it answered. Call again.', {
    executed: 'maybe',
  });

const toBusy = (): UpstreamToolError =>
  new UpstreamToolError(
    'upstream_rate_limited',
    'Too many calls are waiting for the index of notes. Call again in a second.',
    {
      executed: 'no',
      retryAfterMs: RETRY_AFTER_MS,
    },
  );

const NOTICES = {
  too_many_notes: 'some notes are not indexed: too many, nested too deep, or names that are not UTF-8',
  too_much_text:
    'the text of some notes is not indexed: the size limit is reached, and further notes are found only by title and path',
} as const;

const deliver = (message: IndexMessage, waiting: ReadonlyMap<number, Waiting>, log: ExtensionLog): void => {
  switch (message.kind) {
    case 'answer':
      waiting.get(message.id)?.resolve(message.answer);
      return;
    case 'unreadable':
      waiting.get(message.id)?.reject(toUnreadable(message.code));
      return;
    case 'progress':
      for (const call of waiting.values()) tellProgress(call, message.done, message.total);
      return;
    case 'notice':
      log.warn({ most: message.most }, NOTICES[message.notice]);
  }
};

const toUnreadable = (code: string): RetryableToolError =>
  new RetryableToolError(
    `Notes not available: the directory in NOTES_DIR cannot be read (${code}). Set NOTES_DIR to a directory of Markdown files.`,
  );

// Progress rises, and a call may wait for two scans.
const tellProgress = (call: Waiting, done: number, total: number): void => {
  if (done <= call.reported) return;
  call.reported = done;
  call.progress({ progress: done, total, message: 'Indexing notes' });
};
