import { setTimeout as afterMs, setImmediate as nextTurn } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';
import { type JSONRPCMessage, serializeMessage, type Transport } from '@modelcontextprotocol/client';
import { cutAtWord, showText } from '@recourse/toolkit-kit/egress/show-url';
import type { BoundedLog } from './limited-log.ts';
import { LineReader, type LongLine } from './line-reader.ts';
import { MessageReader, readStandIn } from './message-reader.ts';
import { type ServerCommand, type ServerProcess, spawnServer } from './server-process.ts';
import { createLineRate, FLOOD_REASON, type ServerTransport } from './server-transport.ts';

type StdioOptions = {
  readonly server: ServerCommand;
  readonly maxMessageBytes: number;
  /** Between end of input, SIGTERM and SIGKILL. */
  readonly graceMs: number;
  /** A line of its stderr. */
  readonly logOutput: BoundedLog;
  /** What on its stdout is no message. */
  readonly logFault: BoundedLog;
};

const END_WITHIN_MS = 1_000;

/**
 * MCP over stdin and stdout of a process. The SDK's own transport (2.4) ends the connection at a message over its cap,
 * rounds long numbers, and starts the process in the group of the service: here such a message is skipped and ends its own
 * call alone, numbers stay as they were written, and the process leads a group and ends with it.
 */
export const createStdioTransport = (options: StdioOptions): ServerTransport => {
  let process: ServerProcess | null = null;
  let reason: string | null = null;
  const over = Promise.withResolvers<void>();
  const breakOff = (why: string): void => {
    reason ??= why;
    process?.kill();
  };
  const reader = new MessageReader(breakOff);
  const transport: Transport & { readonly pid: null; readonly stderr: null } = {
    // By these two the SDK knows that a silent server may be an old one.
    pid: null,
    stderr: null,
    start: async () => {
      const stderr = createStderrReader(options.logOutput);
      process = spawnServer(options.server, {
        onStdout: createStdoutReader(options, reader, breakOff, (message) => transport.onmessage?.(message)),
        onStderr: stderr.read,
        onEnd: (ended, exitCode) => {
          const lastWords = stderr.end();
          // A process that was ended, or that ends well, does not say why.
          const isSaid = lastWords !== '' && exitCode !== null && exitCode !== 0;
          reason ??= isSaid ? `${ended}: ${lastWords}` : ended;
          over.resolve();
          transport.onclose?.();
        },
      });
    },
    send: async (message) => {
      if (process === null) throw new Error('The server was not started.');
      reader.sent(message);
      await process.write(serializeMessage(message)).catch(async (error: unknown) => {
        // A server that takes no more input has most often ended, and a moment later it is known why.
        await Promise.race([over.promise, afterMs(END_WITHIN_MS, undefined, { ref: false })]);
        throw error;
      });
    },
    close: async () => {
      if (process === null) transport.onclose?.();
      await process?.end(options.graceMs);
    },
  };
  return { transport, reason: () => reason, breakOff, kill: () => process?.kill() };
};

// About a quarter of a second of work. A stream that goes on is not one message any more.
const MAX_SKIPPED_BYTES = 268_435_456;
const LINES_A_TURN = 100;
const MOST_LOGGED_OF_LONG = 80;

/**
 * Hands on the messages of stdout, a hundred lines a turn of the event loop and one after the other with room in between:
 * the SDK takes up progress a moment later, and would have forgotten the call by then if its answer came in the same chunk.
 */
const createStdoutReader = (
  { maxMessageBytes, logFault }: StdioOptions,
  reader: MessageReader,
  breakOff: (why: string) => void,
  deliver: (message: JSONRPCMessage) => void,
) => {
  const lines = new LineReader(maxMessageBytes);
  const isFlood = createLineRate();
  const take = (line: string | LongLine): void => {
    const messages = readLine(line, reader);
    const fault = describeFault(line, messages);
    if (fault !== null) logFault(fault, typeof line === 'string' ? line : line.head.slice(0, MOST_LOGGED_OF_LONG));
    for (const message of messages) deliver(message);
  };
  return async (chunk: Buffer): Promise<void> => {
    for (const [place, line] of lines.read(chunk).entries()) {
      if (isFlood()) return breakOff(FLOOD_REASON);
      take(line);
      await (place % LINES_A_TURN === LINES_A_TURN - 1 ? nextTurn() : undefined);
    }
    if (lines.openBytes > Math.max(MAX_SKIPPED_BYTES, 2 * maxMessageBytes)) breakOff('it sent an unterminated message');
  };
};

const readLine = (line: string | LongLine, reader: MessageReader): readonly JSONRPCMessage[] => {
  if (typeof line !== 'string') return reader.readLong(line);
  // Without a parser's exception for each line of a server that babbles.
  return line.startsWith('{') || line.startsWith('[') ? reader.read(line) : [];
};

/** What the log says of a line that is no message, or of an answer that was replaced; null where all is well. */
const describeFault = (line: string | LongLine, messages: readonly JSONRPCMessage[]): string | null => {
  const standIns = messages.map((message) => ('error' in message ? readStandIn(message.error.data) : null));
  if (typeof line !== 'string' || standIns.includes('too_large')) return 'message of an MCP server too large';
  if (standIns.includes('unreadable')) return 'answer of an MCP server cannot be read';
  return messages.length === 0 && line !== '' ? 'output of an MCP server is not an MCP message' : null;
};

const MAX_STDERR_LINE_BYTES = 4_096;
// Of one piece that it writes. The log takes twenty lines in ten seconds; thirty thousand lines of one letter would be
// looked through for them.
const MOST_STDERR_BYTES = 8_192;
// A process that writes more waits meanwhile: three megabytes of a log in a second help no reader.
const STDERR_PAUSE_MS = 20;

const MOST_CHARACTERS = 200;
// What a program says after the line that matters: its stack, marks without a letter, its runtime, where its log is.
const NO_WORDS = [/^\s/, /^\P{L}*$/u, /^Node\.js v\d/, /complete log of this run/];
// What went wrong first is often a line above: a folder that is missing, then that there is none left.
const TROUBLE = /^(?:warn(?:ing)?|error|fatal)\b/i;

/** Logs the lines of stderr and keeps the last one that says something, most often why a program ends. */
const createStderrReader = (logOutput: BoundedLog) => {
  const lines = new LineReader(MAX_STDERR_LINE_BYTES);
  let last = '';
  let warning = '';
  const add = (text: string): void => {
    if (text === '') return;
    logOutput('MCP server stderr', text);
    const plain = stripVTControlCharacters(text);
    if (NO_WORDS.some((pattern) => pattern.test(plain))) return;
    warning = TROUBLE.test(last) ? last : '';
    last = plain;
  };
  const readLines = (chunk: Buffer): void => {
    for (const line of lines.read(chunk)) add(typeof line === 'string' ? line : line.head);
  };
  return {
    read: async (chunk: Buffer): Promise<void> => {
      readLines(chunk.subarray(-MOST_STDERR_BYTES));
      await afterMs(STDERR_PAUSE_MS);
    },
    /** The last words, after a warning just before them: printable, cut; '' where nothing was said. */
    end: (): string => {
      // The last line may have no end.
      readLines(Buffer.from('\n'));
      const words = [warning, last].filter((line) => line !== '');
      return words.map((line) => cutAtWord(showText(line, line.length), MOST_CHARACTERS)).join('; ');
    },
  };
};
