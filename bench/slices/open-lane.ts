import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createJudge } from './judge-answer.ts';
import { createRequests } from './lane-requests.ts';
import { readCpuNanos } from './processor-time.ts';
import { findAnswerEnd } from './read-answer.ts';
import type { LanePlan, Slice, Stint } from './slice-plan.ts';

/** Connections to one server that are kept alive, with at most one request each. */
export type Lane = {
  /** A closed loop on all connections; resolves when every request is answered. Rejects where an answer is wrong. */
  readonly drive: (stint: Stint) => Promise<Slice>;
  readonly close: () => void;
};

type Line = { readonly socket: Socket; received: string; sentAt: number };

type Tally = { answers: number; sent: number; warned: number; warning: string; readonly times: number[] };

/** What one stint needs while it lasts. */
type Turn = {
  readonly tally: Tally;
  readonly mayGoOn: () => boolean;
  readonly done: () => void;
  readonly fail: (error: Error) => void;
};

const READ_BYTES = 65_536;
const SHOWN = 600;
/** Of the time of a stint that is to send so many calls. */
const MOST_TIMES = 2;
// A server that answers nothing for so long is stuck.
const STALL_MS = 20_000;

/** Opens the connections of a lane and makes its requests. */
export const openLane = async (plan: LanePlan, number: number): Promise<Lane> => {
  const nextRequest = createRequests(plan, number);
  const judge = createJudge(plan);
  const lines: Line[] = [];
  const state: { turn: Turn | null; waiting: number; broken: Error | null } = { turn: null, waiting: 0, broken: null };
  // Also between two slices, so that the next one does not wait for answers that never come.
  const fail = (reason: string): void => {
    state.broken ??= new Error(`${plan.url}, ${plan.kind}: ${reason}`);
    state.turn?.fail(state.broken);
  };
  const send = (line: Line): void => {
    state.waiting += 1;
    if (plan.timed) line.sentAt = performance.now();
    line.socket.write(nextRequest());
  };
  const take = (line: Line, answer: string): void => {
    const { turn } = state;
    if (turn === null) return;
    const verdict = judge(answer);
    if (verdict === 'wrong') {
      fail(`a wrong answer: ${answer.slice(0, SHOWN)}`);
      return;
    }
    count(turn.tally, line, answer, verdict === 'warned', plan.timed);
    state.waiting -= 1;
    if (turn.mayGoOn()) send(line);
    else if (state.waiting === 0) turn.done();
  };
  const onBytes = (line: Line, piece: string): void => {
    const received = line.received + piece;
    const found = findAnswerEnd(received);
    line.received = found === null ? received : '';
    if (found === null) return;
    if (found.end === received.length) take(line, received);
    else fail('an answer is longer than it says');
  };
  for (let index = 0; index < plan.connections; index += 1) lines.push(await openLine(plan.url, onBytes, fail));
  return {
    drive: async (stint) => {
      if (state.broken !== null) throw state.broken;
      const cpuBefore = readCpuNanos(plan.pid);
      const startedAt = performance.now();
      const sleep = plan.awake ? stayAwake() : null;
      const tally = await new Promise<Tally>((resolve, reject) => {
        state.turn = createTurn(stint, plan.calls, startedAt, resolve, reject);
        for (const line of lines) if (state.turn.mayGoOn()) send(line);
      }).finally(() => sleep?.());
      state.turn = null;
      return toSlice(tally, performance.now() - startedAt, readCpuNanos(plan.pid) - cpuBefore);
    },
    close: () => {
      for (const { socket } of lines) socket.destroy();
    },
  };
};

/** Keeps the event loop turning; gives the way to let it wait again. */
const stayAwake = (): (() => void) => {
  let isAwake = true;
  const turn = (): void => {
    if (isAwake) setImmediate(turn);
  };
  turn();
  return () => {
    isAwake = false;
  };
};

const createTurn = (
  stint: Stint,
  calls: number,
  startedAt: number,
  resolve: (tally: Tally) => void,
  reject: (error: Error) => void,
): Turn => {
  const tally: Tally = { answers: 0, sent: 0, warned: 0, warning: '', times: [] };
  const stalled = setInterval(
    (seen: { answers: number }) => {
      if (seen.answers === tally.answers) reject(new Error(`No answer came for ${STALL_MS} ms.`));
      seen.answers = tally.answers;
    },
    STALL_MS,
    { answers: -1 },
  );
  const isOpen = (): boolean => {
    if ('answers' in stint) return tally.sent < stint.answers;
    const ms = performance.now() - startedAt;
    return ms < stint.ms || (tally.sent * calls < stint.calls && ms < stint.ms * MOST_TIMES);
  };
  return {
    tally,
    mayGoOn: () => {
      if (!isOpen()) return false;
      tally.sent += 1;
      return true;
    },
    done: () => {
      clearInterval(stalled);
      resolve(tally);
    },
    fail: (error) => {
      clearInterval(stalled);
      reject(error);
    },
  };
};

const count = (tally: Tally, line: Line, answer: string, isWarned: boolean, isTimed: boolean): void => {
  tally.answers += 1;
  if (isTimed) tally.times.push(performance.now() - line.sentAt);
  if (!isWarned) return;
  tally.warned += 1;
  tally.warning ||= answer.slice(-SHOWN);
};

const toSlice = ({ answers, warned, warning, times }: Tally, ms: number, cpuNanos: number): Slice => ({
  answers,
  ms,
  cpuNanos,
  times,
  warned,
  warning,
});

const openLine = async (
  url: string,
  onBytes: (line: Line, piece: string) => void,
  fail: (reason: string) => void,
): Promise<Line> => {
  const { hostname, port } = new URL(url);
  const socket = connect({
    host: hostname,
    port: Number(port),
    noDelay: true,
    // One buffer for all that a connection reads: nothing is allocated for a piece but its text.
    onread: {
      buffer: Buffer.alloc(READ_BYTES),
      callback: (bytes, buffer) => {
        onBytes(line, Buffer.from(buffer.buffer, buffer.byteOffset, bytes).toString('latin1'));
        return true;
      },
    },
  });
  const line: Line = { socket, received: '', sentAt: 0 };
  await once(socket, 'connect');
  socket.on('error', (error) => fail(error.message));
  socket.on('close', () => fail('the connection was closed'));
  return line;
};
