import { type DestinationStream, type Logger, pino } from 'pino';

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';

// Lines wait at most this long in the buffer; writing each alone would cost a system call a batch.
const FLUSH_EVERY_MS = 100;
const BUFFER_BYTES = 65_536;

/** One JSON object a line on stdout, or coloured text where stdout is a terminal. */
export const createLogger = async (options: {
  readonly level: LogLevel;
  readonly format: 'json' | 'pretty';
}): Promise<Logger> => {
  const destination: DestinationStream =
    options.format === 'pretty'
      ? (await import('pino-pretty')).build({ sync: true, translateTime: 'HH:MM:ss.l', ignore: 'pid,hostname' })
      : pino.destination({
          dest: 1,
          sync: false,
          minLength: BUFFER_BYTES,
          maxWrite: 2 * BUFFER_BYTES,
          periodicFlush: FLUSH_EVERY_MS,
        });
  return pino({ level: options.level, base: null, timestamp: createIsoTime() }, destination);
};

/** pino's ISO time, written once a millisecond and not once a line. */
const createIsoTime = (): (() => string) => {
  let last = { at: 0, text: '' };
  return () => {
    const at = Date.now();
    if (at !== last.at) last = { at, text: `,"time":"${new Date(at).toISOString()}"` };
    return last.text;
  };
};
