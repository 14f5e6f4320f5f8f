import { parentPort } from 'node:worker_threads';
import type { FromThread, ToThread } from '../request-thread.ts';
import type { SearchOutcome, SearchRequest } from '../search-thread.ts';
import { runSearch, type SearchRun } from './search-run.ts';

// The thread that searches files. Searches share it in slices, so a short one never waits for the end of a long one. An error
// that is not expected here ends the thread; the next search starts another one.
//
// | a search | in |
// |---|---|
// | came, and as many as may run do | `waiting` |
// | runs: the one with the next slice comes first | `running` |

const SLICE_MS = 4;
// What bounds the memory: a search holds the names of one directory and the paths of those to come.
const MOST_RUNNING = 8;
const CANCELLED: SearchOutcome = { kind: 'unreadable', code: 'ECANCELED' };

const waiting = new Map<number, { readonly request: SearchRequest; readonly endsAt: number }>();
const running = new Map<number, SearchRun>();
// One for all: a search has finished with it when its slice ends.
let buffer = Buffer.alloc(0);
let nextSlice: NodeJS.Immediate | null = null;

const startWaiting = (): void => {
  for (const [id, { request, endsAt }] of waiting) {
    if (running.size >= MOST_RUNNING) return;
    waiting.delete(id);
    const { maxFileBytes, maxMs } = request.limits;
    if (buffer.length < maxFileBytes) buffer = Buffer.allocUnsafeSlow(maxFileBytes);
    running.set(id, runSearch(request, { endsAt: Math.min(endsAt, performance.now() + maxMs), buffer }));
  }
};

const answer = (id: number, outcome: SearchOutcome): void => {
  const message: FromThread<SearchOutcome> = { id, answer: outcome };
  parentPort?.postMessage(message);
};

/** The outcome where the search has ended within this slice. */
const runSlice = (run: SearchRun): SearchOutcome | null => {
  const until = performance.now() + SLICE_MS;
  do {
    const step = run.next();
    if (step.done) return step.value;
  } while (performance.now() < until);
  return null;
};

const runNext = (): void => {
  nextSlice = null;
  startWaiting();
  const [next] = running;
  if (next !== undefined) {
    const [id, run] = next;
    running.delete(id);
    const outcome = runSlice(run);
    if (outcome === null) running.set(id, run);
    else answer(id, outcome);
  }
  scheduleSlice();
};

// Between two slices messages are read.
const scheduleSlice = (): void => {
  if (nextSlice === null && running.size + waiting.size > 0) nextSlice = setImmediate(runNext);
};

const cancel = (id: number): void => {
  if (!waiting.has(id) && !running.has(id)) return;
  waiting.delete(id);
  // Closes the directory that it has open.
  running.get(id)?.return(CANCELLED);
  running.delete(id);
  answer(id, CANCELLED);
};

parentPort?.on('message', ({ id, request }: ToThread<SearchRequest>) => {
  if (request === undefined) cancel(id);
  else waiting.set(id, { request, endsAt: request.endsAtMs - performance.timeOrigin });
  scheduleSlice();
});
