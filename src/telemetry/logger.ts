import { writeSync } from 'node:fs';
import { hostname } from 'node:os';
import { type DestinationStream, type Logger, pino } from 'pino';
import type { ServiceRedactor } from '../redaction/service-redactor.ts';
import { createJsonLogBatch, createLogBatch, type LogBatch, type LogFailure } from './log-lines.ts';

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';

// Lines wait at most this long; writing each alone would cost a system call a batch.
const FLUSH_EVERY_MS = 100;
const FLUSH_AT_LENGTH = 65_536;

/** The log, and what writes the lines of batches and of failed calls into it; without the last, all their fields. */
export type ServiceLog = {
  readonly log: Logger;
  readonly logBatch: LogBatch;
  readonly logFailure?: LogFailure;
  /** Writes whole lines among those of the log; false: nobody reads them any more. Left out: by stdout itself. */
  readonly writeOut?: (text: string) => boolean;
};

/** One JSON object a line on stdout, or a line for people where stdout is a terminal. No line leaves it with a secret. */
export const createLogger = async (options: {
  readonly level: LogLevel;
  readonly format: 'json' | 'pretty';
  readonly levels: LogLevels;
  readonly origin: Omit<LogOrigin, 'instance'>;
  readonly redactor: Pick<ServiceRedactor, 'log' | 'containsSecret'>;
}): Promise<ServiceLog> => {
  // In a cluster the name of the pod.
  const origin = { ...options.origin, instance: hostname() };
  if (options.format === 'json') {
    const destination = createGatheringDestination();
    return { ...createJsonLog({ ...options, origin }, destination), writeOut: destination.writeOut };
  }
  const { build } = await import('pino-pretty');
  const { createBatchLineForPeople, logFailureForPeople } = await import('./terminal-lines.ts');
  const destination = build({ sync: true, singleLine: true, translateTime: 'SYS:HH:MM:ss.l' });
  // Whoever looks at a terminal knows what it shows.
  const log = pino({ ...toPinoOptions({ ...options, origin }, createIsoTime()), base: null }, destination);
  return { log, logBatch: createBatchLineForPeople(log, createLogBatch(log)), logFailure: logFailureForPeople };
};

/** How a line says its level: 30 or `info`. */
export type LogLevels = 'number' | 'name';

/** Where a line is from; on every line. */
export type LogOrigin = { readonly service: string; readonly version: string; readonly instance: string };

type JsonLogOptions = {
  readonly level: LogLevel;
  readonly levels: LogLevels;
  readonly origin: LogOrigin;
  readonly redactor: Pick<ServiceRedactor, 'log' | 'containsSecret'>;
};

/** Lines of JSON, wherever they go. */
export const createJsonLog = (options: JsonLogOptions, destination: DestinationStream): ServiceLog => {
  const time = createIsoTime();
  const log = pino(toPinoOptions(options, time), destination);
  const level = options.levels === 'name' ? '"info"' : '30';
  const origin = JSON.stringify(options.origin).slice(1, -1);
  const begin = (): string => `{"level":${level}${time()},${origin}`;
  const redact = createLogHooks(options.redactor).streamWrite;
  return { log, logBatch: createJsonLogBatch({ log, begin, redact, write: (line) => destination.write(line) }) };
};

const toPinoOptions = ({ level, levels, origin, redactor }: JsonLogOptions, timestamp: () => string) => ({
  level,
  base: origin,
  timestamp,
  ...(levels === 'name' ? { formatters: { level: (name: string) => ({ level: name }) } } : {}),
  hooks: createLogHooks(redactor),
});

/** Takes secrets out of every line, whatever wrote it and wherever it goes, and what a terminal would obey. */
export const createLogHooks = (redactor: Pick<ServiceRedactor, 'log'>) => ({
  streamWrite: (line: string): string => {
    const redacted = redactor.log(line);
    return OBEYED.test(redacted) ? redacted.replace(ALL_OBEYED, toEscape) : redacted;
  },
});

// JSON leaves these as they are: DEL, the C1 controls (U+009B begins a command as ESC [ does), line ends of Unicode (readers of
// lines break there), and marks that turn text around.
const OBEYED = /[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/;
const ALL_OBEYED = new RegExp(OBEYED, 'g');
const toEscape = (sign: string): string => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`;

/**
 * Gathers lines and hands them to pino's own destination in one piece. That one (sonic-boom 4.2) can gather too, but
 * measures all it holds again with every line: with 64 KiB that was three quarters of the price of a line.
 */
const createGatheringDestination = (): DestinationStream & {
  readonly flush: (done?: () => void) => void;
  readonly writeOut: (lines: string) => boolean;
} => {
  const stdout = pino.destination({ dest: 1, sync: false });
  let gathered = '';
  let isUnread = false;
  // Else an error of its own would end the service, and pino's flush at exit would try for ever.
  stdout.on('error', () => {
    isUnread = true;
    stdout.destroy();
  });
  let timer: NodeJS.Timeout | undefined;
  const handOver = (): void => {
    clearTimeout(timer);
    timer = undefined;
    if (gathered !== '' && !isUnread) stdout.write(gathered);
    gathered = '';
  };
  process.on('exit', () => {
    clearTimeout(timer);
    writeLast(gathered);
  });
  const write = (line: string): void => {
    gathered += line;
    if (gathered.length >= FLUSH_AT_LENGTH) handOver();
    else timer ??= setTimeout(handOver, FLUSH_EVERY_MS).unref();
  };
  return {
    write,
    writeOut: (lines) => {
      write(lines);
      return !isUnread;
    },
    flush: (done = () => undefined) => {
      handOver();
      if (isUnread) done();
      else stdout.flush(done);
    },
  };
};

// Not flushSync: up to sonic-boom 4.2 it tries again for ever where nobody reads any more, and the
// process never ends. What was handed over is on its way; only what was gathered since is still here.
const writeLast = (text: string): void => {
  try {
    if (text !== '') writeSync(1, text);
  } catch (_unread) {
    // The reader is gone, or takes no more: an exit must not wait for it.
  }
};

/** pino's ISO time. All but its milliseconds is written once a second, not once a line. */
const createIsoTime = (): (() => string) => {
  let second = Number.NaN;
  let begin = '';
  return () => {
    const at = Date.now();
    const ms = at % 1000;
    if (at - ms !== second) {
      second = at - ms;
      begin = `,"time":"${new Date(second).toISOString().slice(0, -4)}`;
    }
    return `${begin}${ms < 10 ? '00' : ms < 100 ? '0' : ''}${ms}Z"`;
  };
};
