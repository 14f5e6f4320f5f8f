import { type HttpAnswer, type HttpConnection, openConnection } from './http-connection.ts';

/** A connection, and whether an answer is awaited on it. */
export type Line = { readonly connection: HttpConnection; sentAt: number; isWaiting: boolean };

/** Connections that are kept alive, as many as are needed at once. */
export type LinePool = {
  /** Opens so many beforehand. */
  readonly open: (count: number) => void;
  /** Sends on a free connection; false where all wait for an answer and there may be no more. */
  readonly send: (request: string) => boolean;
  readonly size: () => number;
  readonly isWaiting: () => boolean;
  /** Closes all; gives how many batches never had an answer. */
  readonly close: () => number;
};

export type LinePoolOptions = {
  readonly url: string;
  readonly maxLines: number;
  readonly onAnswer: (answer: HttpAnswer, tookMs: number) => void;
  /** A batch was sent and its connection broke. */
  readonly onLost: (reason: string) => void;
};

export const createLinePool = ({ url, maxLines, onAnswer, onLost }: LinePoolOptions): LinePool => {
  const lines = new Set<Line>();
  const free: Line[] = [];
  const openLine = (): Line => {
    const connection = openConnection(url, {
      onAnswer: (answer) => {
        line.isWaiting = false;
        free.push(line);
        onAnswer(answer, performance.now() - line.sentAt);
      },
      onBroken: (reason) => {
        lines.delete(line);
        if (line.isWaiting) onLost(reason);
        else free.splice(free.indexOf(line), 1);
      },
    });
    const line: Line = { connection, sentAt: 0, isWaiting: false };
    lines.add(line);
    return line;
  };
  const countWaiting = (): number => [...lines].filter(({ isWaiting }) => isWaiting).length;
  return {
    open: (count) => {
      for (let opened = 0; opened < count; opened += 1) free.push(openLine());
    },
    send: (request) => {
      const line = free.pop() ?? (lines.size < maxLines ? openLine() : null);
      if (line === null) return false;
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
