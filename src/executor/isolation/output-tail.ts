import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { cutRedacted } from '../redaction/cut-redacted.ts';

export type OutputTail = {
  /** The last lines, oldest first. */
  readonly lines: () => readonly string[];
  /** A new call begins: what is said from now on counts anew. */
  readonly reset: () => void;
};

const MAX_LINES = 20;
const MAX_LINE_LENGTH = 500;
// Read to know what is cut off.
const MAX_READ_LENGTH = 4 * MAX_LINE_LENGTH;
// More than anybody reads, and less than would cost the service its time.
const MAX_BYTES = 8_388_608;

/**
 * Reads what a host writes to stdout or stderr: every line is told, of which the last twenty are kept. Beyond 8 MiB
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
  const add = (line: string): void => {
    if (line.trim() === '') return;
    const text = cutRedacted(line, MAX_LINE_LENGTH);
    lines.push(text);
    if (lines.length > MAX_LINES) lines.shift();
    onLine(text);
  };
  stream.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) {
      stream.pause();
      onFlood();
      return;
    }
    const [first = '', ...more] = decoder.write(chunk).split('\n');
    begun = (begun + first).slice(0, MAX_READ_LENGTH);
    for (const next of more) {
      add(begun);
      begun = next.slice(0, MAX_READ_LENGTH);
    }
  });
  stream.on('error', () => undefined);
  return {
    lines: () => (begun.trim() === '' ? lines : [...lines, cutRedacted(begun, MAX_LINE_LENGTH)]),
    reset: () => {
      bytes = 0;
      lines = [];
    },
  };
};
