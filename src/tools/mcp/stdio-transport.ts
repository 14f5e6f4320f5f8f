import { deserializeMessage, serializeMessage, type Transport } from '@modelcontextprotocol/client';
import type { BoundedLog } from './bounded-log.ts';
import { createLastWords, type LastWords } from './last-words.ts';
import { createLinePace, type LinePaceOptions } from './line-pace.ts';
import { createMessageLines, type OversizeLine } from './message-lines.ts';
import { handOn } from './message-weight.ts';
import type { ServerTransport } from './server-transport.ts';
import { type ServerCommand, type ServerProcess, spawnServer } from './spawn-server.ts';
import { identifyOversize, toStandIn } from './stand-in-answers.ts';

export type StdioOptions = {
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
const MAX_STDERR_LINE_BYTES = 4096;
// Of one piece that it writes, at its beginning and at its end. The log takes twenty lines in ten seconds; thirty
// thousand lines of one letter would be looked through for them.
const MOST_STDERR_BYTES = 4_096;

/**
 * MCP over stdin and stdout of a process. Unlike the SDK's own: a message over the cap is skipped and ends its own call
 * alone, the process leads a group and ends with it, and its stderr is not ours.
 */
export const createStdioTransport = (options: StdioOptions): ServerTransport => {
  let process: ServerProcess | null = null;
  let reason: string | null = null;
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
      const lastWords = createLastWords();
      const onStderr = readStderr(options.logOutput, lastWords);
      process = spawnServer(options.server, {
        onStdout: readMessages(
          options,
          transport,
          { pause: () => process?.pause(), resume: () => process?.resume() },
          breakOff,
        ),
        onStderr,
        onEnd: (ended, exitCode) => {
          onStderr(LINE_END);
          reason ??= withWords(ended, exitCode, lastWords.told());
          over.resolve();
          transport.onclose?.();
        },
      });
    },
    send: async (message) => {
      if (process === null) throw new Error('The server was not started.');
      await process.write(serializeMessage(message)).catch(async (error: unknown) => {
        // Whoever takes no more input has most often ended, and a moment later it is known why.
        await Promise.race([over.promise, pause(END_WITHIN_MS)]);
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

const END_WITHIN_MS = 1_000;

const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });

const readMessages = (
  { maxMessageBytes, logFault }: StdioOptions,
  transport: Transport,
  flow: Pick<LinePaceOptions, 'pause' | 'resume'>,
  breakOff: (why: string) => void,
): ((chunk: Buffer) => void) => {
  const onOversize = (line: OversizeLine): void => {
    const what = identifyOversize(line);
    logFault('an MCP server sent a message that is too large', line.head.slice(0, 80));
    if (what === 'unknown') breakOff('it sent a message that is too large');
    else if (what !== 'no_answer') transport.onmessage?.(toStandIn(what, 'too_large'));
  };
  const pace = createLinePace({
    take: (line) => {
      if (deliver(line, transport)) return true;
      if (line !== '') logFault('an MCP server wrote something else than a message', line);
      return false;
    },
    ...flow,
    flooded: breakOff,
  });
  const onLine = pace.add;
  return createMessageLines(
    {
      maxLineBytes: maxMessageBytes,
      content: 'message',
      maxSkippedBytes: Math.max(MAX_SKIPPED_BYTES, 2 * maxMessageBytes),
    },
    { onLine, onOversize, onEndless: () => breakOff('it sent a message without end') },
  );
};

/** Whether it was a message. One that is nested beyond the stack is none. */
const deliver = (line: string, transport: Transport): boolean => {
  // Without an exception for each line of a server that babbles.
  if (!line.startsWith('{') && !line.startsWith('[')) return false;
  try {
    return handOn(deserializeMessage(line), (message) => transport.onmessage?.(message)) === 'taken';
  } catch (_noMessage) {
    return false;
  }
};

// The last line may have none.
const LINE_END = Buffer.from('\n');

/** A process that was ended, or that ends well, does not say why. */
const withWords = (ended: string, exitCode: number | null, words: string): string =>
  exitCode === null || exitCode === 0 || words === '' ? ended : `${ended}: ${words}`;

const readStderr = (logOutput: BoundedLog, lastWords: LastWords): ((chunk: Buffer) => void) => {
  const onLine = (line: string): void => {
    if (line === '') return;
    lastWords.hear(line);
    logOutput('an MCP server wrote to stderr', line);
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
