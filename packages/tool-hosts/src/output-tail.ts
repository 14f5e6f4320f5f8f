import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { withLookahead } from 'recourse-server/tools/describe-value';
import { withoutVersions } from './directory/tool-imports.ts';

const MAX_LINES = 20;
const MAX_LINE_LENGTH = 500;
// More than a person reads, and little enough to cost the service no time.
const MAX_BYTES = 8_388_608;

/**
 * Reads what a host writes to stdout or stderr: every line goes to `onLine`, cut to 500 characters with lookahead, of which the last twenty are kept. Beyond 8 MiB
 * between two resets it is a flood, and nothing is read any more.
 */
export class OutputTail {
  #lines: string[] = [];
  #begun = '';
  #bytes = 0;
  readonly #onLine: (line: string) => void;

  constructor(stream: Readable, listener: { readonly onLine: (line: string) => void; readonly onFlood: () => void }) {
    const decoder = new StringDecoder('utf8');
    this.#onLine = listener.onLine;
    stream.on('data', (chunk: Buffer) => {
      this.#bytes += chunk.length;
      if (this.#bytes <= MAX_BYTES) this.#read(decoder.write(chunk));
      else {
        stream.pause();
        listener.onFlood();
      }
    });
    stream.on('error', () => undefined);
  }

  /** The last lines, oldest first. */
  lines(): readonly string[] {
    return this.#begun.trim() === '' ? this.#lines : [...this.#lines, this.#begun];
  }

  /** A new call begins: what is said from now on counts anew. */
  reset(): void {
    this.#bytes = 0;
    this.#lines = [];
  }

  /** A further call begins beside others: it may say as much as they may. */
  renew(): void {
    this.#bytes = 0;
  }

  #read(text: string): void {
    const [first = '', ...more] = text.split('\n');
    this.#begun = withLookahead(this.#begun + first, MAX_LINE_LENGTH);
    for (const next of more) {
      this.#add(this.#begun);
      this.#begun = withLookahead(next, MAX_LINE_LENGTH);
    }
  }

  #add(text: string): void {
    if (text.trim() === '') return;
    const line = withoutVersions(text);
    this.#lines.push(line);
    if (this.#lines.length > MAX_LINES) this.#lines.shift();
    this.#onLine(line);
  }
}
