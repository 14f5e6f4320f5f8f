import { type HttpAnswer, type HttpConnection, openConnection, toGet } from '../http-connection.ts';

/** A connection, and the batch whose answer is awaited on it. */
type Line<Batch> = { readonly connection: HttpConnection; batch: Batch | null; isUsed: boolean };

/** Connections that are kept alive: opened beforehand, and never more. */
export type LinePool<Batch> = {
  readonly hasFree: () => boolean;
  /** Sends on the connection that has been free for longest; there must be one. */
  readonly send: (request: Buffer, batch: Batch) => void;
  readonly size: () => number;
  readonly isWaiting: () => boolean;
  /** Closes all; gives how many batches never had an answer. */
  readonly close: () => number;
};

export type LinePoolOptions<Batch> = {
  readonly url: string;
  readonly lines: number;
  readonly onAnswer: (answer: HttpAnswer, batch: Batch) => void;
  /** A batch was sent and its connection broke. */
  readonly onLost: (reason: string) => void;
};

// A listening socket keeps 511 new connections; one more, and the kernel lets it wait for a second or longer.
const OPENED_AT_ONCE = 100;

/** Opens the connections; rejects where one cannot be opened. */
export const openLinePool = async <Batch extends object>(options: LinePoolOptions<Batch>): Promise<LinePool<Batch>> => {
  const lines = new Set<Line<Batch>>();
  const free: Line<Batch>[] = [];
  const openLine = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const connection = openConnection(options.url, {
        // A connection that says nothing for ten seconds is closed; one that has been used is kept.
        onOpen: () => line.connection.send(toGet(options.url, '/live')),
        onAnswer: (answer) => {
          free.push(line);
          const { batch } = line;
          line.batch = null;
          if (batch !== null) options.onAnswer(answer, batch);
          if (line.isUsed) return;
          line.isUsed = true;
          lines.add(line);
          resolve();
        },
        onBroken: (reason) => {
          reject(new Error(reason));
          lines.delete(line);
          if (line.batch !== null) options.onLost(reason);
          else if (free.includes(line)) free.splice(free.indexOf(line), 1);
        },
      });
      const line: Line<Batch> = { connection, batch: null, isUsed: false };
    });
  while (lines.size < options.lines)
    await Promise.all(Array.from({ length: Math.min(OPENED_AT_ONCE, options.lines - lines.size) }, openLine));
  const countWaiting = (): number => [...lines].filter(({ batch }) => batch !== null).length;
  return {
    hasFree: () => free.length > 0,
    send: (request, batch) => {
      const line = free.shift();
      if (line === undefined) throw new Error('No connection is free.');
      line.batch = batch;
      line.connection.send(request);
    },
    size: () => lines.size,
    isWaiting: () => countWaiting() > 0,
    close: () => {
      for (const { connection } of lines) connection.close();
      return countWaiting();
    },
  };
};
