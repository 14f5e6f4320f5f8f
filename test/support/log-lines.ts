import { type Logger, pino } from 'pino';

type Line = Readonly<Record<string, unknown>>;

/** A log whose lines are kept, without what every line has: their time, process and host. */
export const createLogLines = (): { readonly log: Logger; readonly lines: Line[] } => {
  const lines: Line[] = [];
  const log = pino(
    { base: null, timestamp: false, formatters: { level: (level) => ({ level }) } },
    { write: (text) => void lines.push(JSON.parse(text)) },
  );
  return { log, lines };
};
