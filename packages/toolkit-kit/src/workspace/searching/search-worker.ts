import { parentPort } from 'node:worker_threads';
import type { FromSearchThread, SearchRequest, ToSearchThread } from '../search-thread.ts';
import { runSearch, type SearchRun } from './search-run.ts';

// The thread that searches files. All searches share it in turns, so a short one never waits for the end of a long one.
// An error that is not expected here ends the thread; the next search starts another one.

const SLICE_MS = 4;
// What bounds the memory: a search holds the names of one directory and the paths of those to come.
const MOST_IN_TURN = 8;

type Waiting = { readonly request: SearchRequest; readonly endsAt: number };

const waiting = new Map<number, Waiting>();
/** The one whose turn it is comes first. */
const running = new Map<number, SearchRun>();
// One for all: a search is done with it before another has its turn.
let buffer = Buffer.alloc(0);
let turns: NodeJS.Immediate | null = null;

const say = (message: FromSearchThread): void => parentPort?.postMessage(message);

const begin = ({ request, endsAt }: Waiting): SearchRun => {
  const { maxFileBytes, maxMs } = request.limits;
  if (buffer.length < maxFileBytes) buffer = Buffer.allocUnsafeSlow(maxFileBytes);
  return runSearch(request, { endsAt: Math.min(endsAt, performance.now() + maxMs), buffer });
};

const fillTurns = (): void => {
  for (const [id, search] of waiting) {
    if (running.size >= MOST_IN_TURN) return;
    waiting.delete(id);
    running.set(id, begin(search));
  }
};

const runSlice = (id: number, run: SearchRun): boolean => {
  const until = performance.now() + SLICE_MS;
  do {
    const step = run.next();
    if (step.done) {
      say({ id, outcome: step.value });
      return true;
    }
  } while (performance.now() < until);
  return false;
};

const takeTurn = (): void => {
  turns = null;
  fillTurns();
  for (const [id, run] of running) {
    running.delete(id);
    if (!runSlice(id, run)) running.set(id, run);
    break;
  }
  scheduleTurn();
};

// Between two turns messages are read.
const scheduleTurn = (): void => {
  if (turns === null && running.size + waiting.size > 0) turns = setImmediate(takeTurn);
};

const callOff = (id: number): void => {
  waiting.delete(id);
  // Gives back the directory that it holds open.
  running.get(id)?.return({ kind: 'binary' });
  running.delete(id);
};

const ask = (id: number, request: SearchRequest): void => {
  waiting.set(id, { request, endsAt: request.endsAtMs - performance.timeOrigin });
  scheduleTurn();
};

parentPort?.on('message', (message: ToSearchThread) => {
  if (message.kind === 'search') ask(message.id, message.request);
  else callOff(message.id);
});
