import { createGatheredBytes } from '@recourse/toolkit-kit/egress/gathered-bytes';

/** Of a line that is too long to be held: its beginning and its end, by which one may see what it was. */
export type LongLine = { readonly head: string; readonly tail: string };

const EDGE_BYTES = 256;
const NEWLINE = 10;
const NOTHING = Buffer.alloc(0);

/** Cuts a stream into lines and holds at most one line of `maxBytes` in memory, whatever comes. */
export class LineReader {
  readonly #maxBytes: number;
  #gathered = createGatheredBytes();
  #length = 0;
  #head = '';
  #tail: Buffer = NOTHING;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Bytes of the line that has not ended yet, also of one that is too long. */
  get openBytes(): number {
    return this.#length;
  }

  /** The lines that end in a chunk, without their ends. */
  read(chunk: Buffer): readonly (string | LongLine)[] {
    const lines: (string | LongLine)[] = [];
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, from)) {
      this.#add(chunk.subarray(from, end));
      lines.push(this.#end());
      from = end + 1;
    }
    this.#add(chunk.subarray(from));
    return lines;
  }

  #add(part: Buffer): void {
    const wasLong = this.#length > this.#maxBytes;
    this.#length += part.length;
    if (!wasLong) this.#gathered.add(part);
    if (this.#length <= this.#maxBytes) return;
    if (!wasLong) {
      this.#head = this.#gathered.toBuffer().toString('utf8', 0, EDGE_BYTES);
      this.#gathered = createGatheredBytes();
    }
    this.#tail = Buffer.concat([this.#tail, part.subarray(-EDGE_BYTES)]).subarray(-EDGE_BYTES);
  }

  #end(): string | LongLine {
    const isLong = this.#length > this.#maxBytes;
    const line = isLong
      ? { head: this.#head, tail: this.#tail.toString('utf8') }
      : this.#gathered.toBuffer().toString('utf8').trimEnd();
    this.#gathered = createGatheredBytes();
    this.#length = 0;
    this.#tail = NOTHING;
    return line;
  }
}
