import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { DocumentProblem } from './document-problem.ts';

export type ThreadWork = {
  /** The name of a file of this folder, without its end: `.ts` in src, `.js` in the built dist. */
  readonly file: string;
  readonly data: unknown;
  /** What takes too long where it does: the sentence after which nothing more is done. */
  readonly late: string;
};

// Half a second a megabyte, and more where the processors are busy. Two megabytes of aliases took minutes.
export const MOST_THREAD_MS = 30_000;

/**
 * The first message of a thread that works on a document: other work of the process goes on meanwhile. It is ended after
 * 30 s. Rejects with a DocumentProblem then, and with what the thread throws.
 */
export const runInThread = async ({ file, data, late }: ThreadWork): Promise<unknown> => {
  const url = new URL(`./${file}${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url);
  // No limit of its heap: passing one ends the process now and then, not the thread (nodejs/node#65019).
  const worker = new Worker(url, { name: `openapi-${file}`, env: {}, execArgv: [], workerData: data });
  const ending = new AbortController();
  const limit = setTimeout(() => ending.abort(), MOST_THREAD_MS).unref();
  try {
    const [message]: readonly unknown[] = await once(worker, 'message', { signal: ending.signal });
    return message;
  } catch (thrown) {
    if (ending.signal.aborted) throw new DocumentProblem(`${late} ${MOST_THREAD_MS / 1_000} s.`);
    throw thrown;
  } finally {
    clearTimeout(limit);
    await worker.terminate();
  }
};
