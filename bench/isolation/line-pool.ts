import { type HttpAnswer, type HttpConnection, openConnection, toGet } from './http-connection.ts';

/** A connection, and whether an answer is awaited on it. */
type Line = { readonly connection: HttpConnection; sentAt: number; isWaiting: boolean; isUsed: boolean };

/** Connections that are kept alive: opened beforehand, and never more. */
export type LinePool = {
  /** Sends on a free connection; false where all wait for an answer. */
  readonly send: (request: string) => boolean;
  readonly size: () => number;
  readonly isWaiting: () => boolean;
  /** Closes all; gives how many batches never had an answer. */
  readonly close: () => number;
};

export type LinePoolOptions = {
  readonly url: string;
  readonly lines: number;
  readonly onAnswer: (answer: HttpAnswer, tookMs: number) => void;
  /** A batch was sent and its connection broke. */
  readonly onLost: (reason: string) => void;
};

// A listening socket keeps 511 new connections; one more, and the kernel lets it wait for a second or longer.
const OPENED_AT_ONCE = 100;

/** Opens the connections; rejects where one cannot be opened. */
export const openLinePool = async (options: LinePoolOptions): Promise<LinePool> => {
  const lines = new Set<Line>();
  const free: Line[] = [];
  const openLine = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const connection = openConnection(options.url, {
        // A connection that says nothing for ten seconds is closed; one that has been used is kept.
        onOpen: () => line.connection.send(toGet(options.url, '/live')),
        onAnswer: (answer) => {
          free.push(line);
          if (!line.isUsed) {
            line.isUsed = true;
            lines.add(line);
            resolve();
            return;
          }
          line.isWaiting = false;
          options.onAnswer(answer, performance.now() - line.sentAt);
        },
        onBroken: (reason) => {
          reject(new Error(reason));
          lines.delete(line);
          if (line.isWaiting) options.onLost(reason);
          else if (free.includes(line)) free.splice(free.indexOf(line), 1);
        },
      });
      const line: Line = { connection, sentAt: 0, isWaiting: false, isUsed: false };
    });
  while (lines.size < options.lines)
    await Promise.all(Array.from({ length: Math.min(OPENED_AT_ONCE, options.lines - lines.size) }, openLine));
  const countWaiting = (): number => [...lines].filter(({ isWaiting }) => isWaiting).length;
  return {
    send: (request) => {
      const line = free.pop();
      if (line === undefined) return false;
      line.isWaiting = true;
      line.sentAt = performance.now();
      line.connection.send(request);
      return true;
    },
    size: () => lines.size,
    isWaiting: () => countWaiting() > 0,
    close: () => {
      for (const { connection } of lines) connection.close();
      return countWaiting();
    },
  };
};
