import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { withLookahead } from '../tools/describe-value.ts';
import { withoutVersions } from '../tools/directory/tool-imports.ts';

export type OutputTail = {
  /** The last lines, oldest first. */
  readonly lines: () => readonly string[];
  /** A new call begins: what is said from now on counts anew. */
  readonly reset: () => void;
  /** A further call begins beside others: it may say as much as they may. */
  readonly renew: () => void;
};

const MAX_LINES = 20;
const MAX_LINE_LENGTH = 500;
// More than anybody reads, and less than would cost the service its time.
const MAX_BYTES = 8_388_608;

/**
 * Reads what a host writes to stdout or stderr: every line is told, cut to 500 characters with lookahead, of which the last twenty are kept. Beyond 8 MiB
 * between two resets it is a flood, and nothing is read any more.
 */
export const createOutputTail = (
  stream: Readable,
  { onLine, onFlood }: { readonly onLine: (line: string) => void; readonly onFlood: () => void },
): OutputTail => {
  const decoder = new StringDecoder('utf8');
  let lines: string[] = [];
  let begun = '';
  let bytes = 0;
  const add = (text: string): void => {
    if (text.trim() === '') return;
    const line = withoutVersions(text);
    lines.push(line);
    if (lines.length > MAX_LINES) lines.shift();
    onLine(line);
  };
  stream.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) {
      stream.pause();
      onFlood();
      return;
    }
    const [first = '', ...more] = decoder.write(chunk).split('\n');
    begun = withLookahead(begun + first, MAX_LINE_LENGTH);
    for (const next of more) {
      add(begun);
      begun = withLookahead(next, MAX_LINE_LENGTH);
    }
  });
  stream.on('error', () => undefined);
  return {
    lines: () => (begun.trim() === '' ? lines : [...lines, begun]),
    reset: () => {
      bytes = 0;
      lines = [];
    },
    renew: () => {
      bytes = 0;
    },
  };
};
