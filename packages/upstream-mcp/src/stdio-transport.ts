import { setTimeout as afterMs } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';
import { type JSONRPCMessage, serializeMessage, type Transport } from '@modelcontextprotocol/client';
import { createGatheredBytes } from '@recourse/toolkit-kit/egress/gathered-bytes';
import { cutAtWord, showText } from '@recourse/toolkit-kit/egress/show-url';
import type { BoundedLog } from './limited-log.ts';
import {
  createLineRate,
  FLOOD_REASON,
  handOn,
  identifyOversize,
  JsonDensity,
  type OversizeLine,
  readStandIn,
  type ServerTransport,
  toStandIn,
} from './message-limits.ts';
import { MessageReader } from './message-reader.ts';
import { type ServerCommand, type ServerProcess, spawnServer } from './server-process.ts';

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

// About a quarter of a second of work. A stream that goes on is not one message any more.
const MAX_SKIPPED_BYTES = 268_435_456;
const END_WITHIN_MS = 1_000;
// The last line may have none.
const LINE_END = Buffer.from('\n');

/**
 * MCP over stdin and stdout of a process. Unlike the SDK's own: a message over the cap is skipped and ends its own call
 * alone, the process leads a group and ends with it, and its stderr is not ours.
 */
export const createStdioTransport = (options: StdioOptions): ServerTransport => {
  let process: ServerProcess | null = null;
  let reason: string | null = null;
  const reader = new MessageReader();
  const over = Promise.withResolvers<void>();
  const breakOff = (why: string): void => {
    reason ??= why;
    process?.kill();
  };
  const transport: Transport & { readonly pid: null; readonly stderr: null } = {
    // By these two the SDK knows that a silent server may be an old one.
    pid: null,
    stderr: null,
    start: async () => {
      const lastLines = createLastLines();
      const onStderr = readStderr(options.logOutput, lastLines.add);
      process = spawnServer(options.server, {
        onStdout: readMessages(options, reader, {
          deliver: (message) => transport.onmessage?.(message),
          pause: () => process?.pause(),
          resume: () => process?.resume(),
          breakOff,
        }),
        onStderr,
        onEnd: (ended, exitCode) => {
          onStderr(LINE_END);
          // A process that was ended, or that ends well, does not say why.
          const words = exitCode === null || exitCode === 0 ? '' : lastLines.show();
          reason ??= words === '' ? ended : `${ended}: ${words}`;
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

type Reading = {
  readonly deliver: (message: JSONRPCMessage) => void;
  /** Reads no further, and reads on. */
  readonly pause: () => void;
  readonly resume: () => void;
  readonly breakOff: (why: string) => void;
};

const readMessages = (
  { maxMessageBytes, logFault }: StdioOptions,
  reader: MessageReader,
  { deliver, pause, resume, breakOff }: Reading,
): ((chunk: Buffer) => void) => {
  const onOversize = (line: OversizeLine): void => {
    const id = identifyOversize(line);
    logFault('message of an MCP server too large', line.head.slice(0, 80));
    if (id === 'unknown') breakOff('it sent a message that is too large');
    if (typeof id !== 'number') return;
    reader.forget(id);
    deliver(toStandIn(id, 'too_large'));
  };
  const take = (line: string): boolean => {
    // Without a parser's exception for each line of a server that babbles.
    const messages = line.startsWith('{') || line.startsWith('[') ? reader.read(line) : [];
    const isTaken = messages.map((message) => handOn(message, deliver)).includes('taken');
    if (!isTaken && line !== '') logFault('output of an MCP server is not an MCP message', line);
    else if (messages.some(isUnreadable)) logFault('answer of an MCP server cannot be read', line);
    return isTaken;
  };
  const onLine = createLinePace({ take, pause, resume, flooded: breakOff });
  const maxSkippedBytes = Math.max(MAX_SKIPPED_BYTES, 2 * maxMessageBytes);
  const onEndless = (): void => breakOff('it sent an unterminated message');
  return createMessageLines(
    { maxLineBytes: maxMessageBytes, content: 'message', maxSkippedBytes },
    { onLine, onOversize, onEndless },
  );
};

const isUnreadable = (message: JSONRPCMessage): boolean =>
  'error' in message && readStandIn(message.error.data) === 'unreadable';

const LINES_A_TURN = 100;
const MOST_FAULTS_IN_A_ROW = 1_000;

type LinePaceOptions = Pick<Reading, 'pause' | 'resume'> & {
  /** Whether the line was something that may be sent so. */
  readonly take: (line: string) => boolean;
  /** It sends too much: why, one clause. */
  readonly flooded: (why: string) => void;
};

/**
 * Takes lines as fast as they come and hands on a hundred a turn of the event loop, one after the other with room in
 * between: the SDK takes up progress a moment later, and would have forgotten the call by then if its answer came in the
 * same chunk.
 */
export const createLinePace = ({ take, pause, resume, flooded }: LinePaceOptions): ((line: string) => void) => {
  const isFlood = createLineRate();
  let lines: string[] = [];
  let isDraining = false;
  let faults = 0;
  const takeOne = (line: string): void => {
    faults = take(line) ? 0 : faults + 1;
    const isBeyond = isFlood();
    if (faults > MOST_FAULTS_IN_A_ROW) flooded('it keeps writing lines that are not MCP messages');
    else if (isBeyond) flooded(FLOOD_REASON);
  };
  const drain = async (): Promise<void> => {
    while (lines.length > 0) {
      const turn = lines.slice(0, LINES_A_TURN);
      lines = lines.slice(LINES_A_TURN);
      for (const line of turn) {
        takeOne(line);
        await undefined;
      }
      await new Promise((resolve) => void setImmediate(resolve));
    }
    isDraining = false;
    resume();
  };
  return (line) => {
    lines.push(line);
    if (isDraining) return;
    isDraining = true;
    pause();
    // Lines of one chunk are added together, before the first of them is taken.
    queueMicrotask(() => void drain());
  };
};

type LineEvents = {
  readonly onLine: (line: string) => void;
  readonly onOversize: (line: OversizeLine) => void;
  /** A line has no end that is worth waiting for; no event comes after this. */
  readonly onEndless: () => void;
};

type LineLimits = {
  /** A longer line is skipped. */
  readonly maxLineBytes: number;
  /** `message`: a line too dense to be parsed is skipped as well. */
  readonly content: 'message' | 'text';
  /** More than this is not even skipped. */
  readonly maxSkippedBytes: number;
};

const KEPT_BYTES = 256;
const NEWLINE = 10;
const NOTHING = Buffer.alloc(0);

/** Cuts a stream into lines and keeps at most one line of `maxLineBytes` in memory, whatever comes. */
export const createMessageLines = (limits: LineLimits, events: LineEvents): ((chunk: Buffer) => void) => {
  let gathered = createGatheredBytes();
  let length = 0;
  let head = '';
  let tail = NOTHING;
  let isEndless = false;
  const isSkipping = (): boolean => length > limits.maxLineBytes;
  const add = (part: Buffer): void => {
    const wasSkipping = isSkipping();
    length += part.length;
    if (!wasSkipping) gathered.add(part);
    if (!isSkipping()) return;
    if (!wasSkipping) {
      head = gathered.toBuffer().toString('utf8', 0, KEPT_BYTES);
      gathered = createGatheredBytes();
    }
    tail = Buffer.concat([tail, part.subarray(-KEPT_BYTES)]).subarray(-KEPT_BYTES);
  };
  const endWhole = (line: Buffer): void => {
    const density = new JsonDensity();
    if (limits.content === 'message') density.read(line);
    if (!density.isTooDense) events.onLine(line.toString('utf8').trimEnd());
    else events.onOversize({ head: line.toString('utf8', 0, KEPT_BYTES), tail: line.subarray(-KEPT_BYTES).toString() });
  };
  const endLine = (): void => {
    if (isSkipping()) events.onOversize({ head, tail: tail.toString('utf8') });
    else endWhole(gathered.toBuffer());
    gathered = createGatheredBytes();
    length = 0;
    tail = NOTHING;
  };
  const take = (part: Buffer, place: number): void => {
    if (isEndless) return;
    if (place > 0) endLine();
    add(part);
    isEndless = length > limits.maxSkippedBytes;
    if (isEndless) events.onEndless();
  };
  return (chunk) => toParts(chunk).forEach(take);
};

/** What lies before, between and after the line ends of a chunk. */
const toParts = (chunk: Buffer): readonly Buffer[] => {
  const parts: Buffer[] = [];
  let from = 0;
  for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, from)) {
    parts.push(chunk.subarray(from, end));
    from = end + 1;
  }
  return [...parts, chunk.subarray(from)];
};

const MAX_STDERR_LINE_BYTES = 4_096;
// Of one piece that it writes, at its beginning and at its end. The log takes twenty lines in ten seconds; thirty
// thousand lines of one letter would be looked through for them.
const MOST_STDERR_BYTES = 4_096;

const readStderr = (logOutput: BoundedLog, addLine: (line: string) => void): ((chunk: Buffer) => void) => {
  const onLine = (line: string): void => {
    if (line === '') return;
    addLine(line);
    logOutput('MCP server stderr', line);
  };
  const take = createMessageLines(
    { maxLineBytes: MAX_STDERR_LINE_BYTES, content: 'text', maxSkippedBytes: Number.MAX_SAFE_INTEGER },
    { onLine, onOversize: ({ head }) => onLine(head), onEndless: () => undefined },
  );
  return (chunk) => {
    if (chunk.length <= 2 * MOST_STDERR_BYTES) return take(chunk);
    take(chunk.subarray(0, MOST_STDERR_BYTES));
    take(LINE_END);
    take(chunk.subarray(-MOST_STDERR_BYTES));
  };
};

const MOST_CHARACTERS = 200;
// What a program says after the line that matters: its stack, marks without a letter, its runtime, where its log is.
const NO_WORDS = [/^\s/, /^\P{L}*$/u, /^Node\.js v\d/, /complete log of this run/];
// What went wrong first is often a line above: a folder that is missing, then that there is none left.
const TROUBLE = /^(?:warn(?:ing)?|error|fatal)\b/i;

/** The last line of stderr that says something, most often why a program ends; and a warning just before it. */
const createLastLines = () => {
  let last = '';
  let before = '';
  return {
    add: (line: string): void => {
      const plain = stripVTControlCharacters(line);
      if (NO_WORDS.some((pattern) => pattern.test(plain))) return;
      before = TROUBLE.test(last) ? last : '';
      last = plain;
    },
    /** One line, printable, cut; "" where nothing was said. */
    show: (): string =>
      [before, last]
        .filter((line) => line !== '')
        .map((line) => cutAtWord(showText(line, line.length), MOST_CHARACTERS))
        .join('; '),
  };
};
