import { writeSync } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import type { AuditSink, SinkObserver } from './audit-sink.ts';

export type AuditFileOptions = SinkObserver & {
  readonly path: string;
  /** Lines that wait come to at most so many characters; left out: 8 MiB. */
  readonly maxWaiting?: number;
};

// Writing each line alone would cost a system call a batch. Texts become bytes before they are old: to collect those that lived for
// 100 ms costs more than to write them.
const FLUSH_EVERY_MS = 100;
const FLUSH_AT_BYTES = 262_144;
const ENCODE_AT_LENGTH = 16_384;
const RETRY_EVERY_MS = 1000;
const MAX_WAITING = 8_388_608;
const LINE_END = 10;
const MODE = 0o640;

/** Lines in one piece, and how many bytes of it the file has. */
type Chunk = { readonly bytes: Buffer; readonly lines: number; written: number };

/**
 * A file that lines are appended to, by this process alone: what waits is written every 100 ms, one piece after the other. While the
 * file cannot be written the lines wait, as many as there is room for, and it is opened again every second. A file that was moved
 * or deleted is opened anew under its path: at the latest with the next piece, or when `reopen` asks for it.
 */
export class AuditFile implements AuditSink {
  readonly #options: AuditFileOptions;
  readonly #maxWaiting: number;
  #file: FileHandle | null = null;
  /** Device and inode of the file that was open last. */
  #place = '';
  #gathered = '';
  /** What was gathered before that. */
  #pieces: Buffer[] = [];
  #pieceBytes = 0;
  #gatheredLines = 0;
  #chunk: Chunk | null = null;
  #timer: NodeJS.Timeout | undefined;
  #pumping: Promise<void> | null = null;
  #mustReopen = false;
  #isClosed = false;
  #problem: string | null = null;

  constructor(options: AuditFileOptions) {
    this.#options = options;
    this.#maxWaiting = options.maxWaiting ?? MAX_WAITING;
  }

  write(line: string): void {
    if (this.#waiting + line.length > this.#maxWaiting) {
      this.#options.lost(1);
      return;
    }
    this.#gathered += `${line}\n`;
    this.#gatheredLines += 1;
    if (this.#gathered.length >= ENCODE_AT_LENGTH) this.#encode();
    if (this.#pieceBytes < FLUSH_AT_BYTES) this.#flushLater(FLUSH_EVERY_MS);
    else if (this.#problem === null) void this.flush();
  }

  isUp(): boolean {
    // Calls that run now will need room for their lines.
    return this.#problem === null && this.#waiting < this.#maxWaiting / 2;
  }

  /** Opens the path anew, behind what is being written now: the file was moved. */
  reopen(): void {
    this.#mustReopen = true;
    void this.flush();
  }

  /** Resolves when all lines of before are written, or the file cannot be. */
  async flush(): Promise<void> {
    // What comes while one piece is written is the next.
    this.#pumping ??= this.#pump().finally(() => {
      this.#pumping = null;
    });
    await this.#pumping;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.flush();
    await this.flush();
    clearTimeout(this.#timer);
    const left = this.#gatheredLines + (this.#chunk?.lines ?? 0);
    if (left > 0) this.#options.lost(left);
    this.#takeGathered();
    this.#chunk = null;
    await this.#closeFile();
  }

  /** For a process that exits: writes what no write is on its way for. */
  flushSync(): void {
    const chunk = this.#takeGathered();
    if (this.#file === null || chunk === null) return;
    try {
      writeSync(this.#file.fd, chunk.bytes);
    } catch (_full) {
      // The exit must not wait for a disk.
    }
  }

  get #waiting(): number {
    return (
      this.#gathered.length +
      this.#pieceBytes +
      (this.#chunk === null ? 0 : this.#chunk.bytes.length - this.#chunk.written)
    );
  }

  #flushLater(ms: number): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.flush();
    }, ms).unref();
  }

  async #pump(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    try {
      do {
        await this.#openWhereNeeded();
        this.#chunk ??= this.#takeGathered();
        if (this.#chunk !== null) await this.#writeChunk(this.#chunk);
        this.#chunk = null;
        // The file may have been moved, and lines have come, meanwhile.
      } while (this.#mustReopen || this.#waiting > 0);
      this.#tell(null);
    } catch (error) {
      await this.#closeFile();
      this.#tell(error instanceof Error && 'code' in error ? String(error.code) : String(error));
      clearTimeout(this.#timer);
      this.#timer = undefined;
      if (!this.#isClosed) this.#flushLater(RETRY_EVERY_MS);
    }
  }

  #takeGathered(): Chunk | null {
    if (this.#gathered !== '') this.#encode();
    if (this.#pieceBytes === 0) return null;
    const chunk = { bytes: Buffer.concat(this.#pieces), lines: this.#gatheredLines, written: 0 };
    this.#pieces = [];
    this.#pieceBytes = 0;
    this.#gatheredLines = 0;
    return chunk;
  }

  #encode(): void {
    const piece = Buffer.from(this.#gathered);
    this.#gathered = '';
    this.#pieces.push(piece);
    this.#pieceBytes += piece.length;
  }

  async #writeChunk(chunk: Chunk): Promise<void> {
    while (chunk.written < chunk.bytes.length) {
      if (this.#file === null) throw new Error('closed');
      const { bytesWritten } = await this.#file.write(chunk.bytes, chunk.written);
      chunk.written += bytesWritten;
    }
  }

  async #openWhereNeeded(): Promise<void> {
    const isThere = this.#file !== null && !this.#mustReopen && (await this.#isInPlace());
    if (isThere) return;
    this.#mustReopen = false;
    const file = await open(this.#options.path, 'a+', MODE);
    await this.#closeFile();
    this.#file = file;
    const place = await this.#findPlace();
    // A line of which another file has the beginning goes whole into this one.
    if (place !== this.#place && this.#chunk !== null) this.#chunk.written = startOfLine(this.#chunk);
    if (place !== this.#place) await endTornLine(file);
    this.#place = place;
  }

  async #findPlace(): Promise<string> {
    const { dev, ino } = (await this.#file?.stat()) ?? { dev: 0, ino: 0 };
    return `${dev}:${ino}`;
  }

  /** Whether the path still leads to the open file. */
  async #isInPlace(): Promise<boolean> {
    const found = await stat(this.#options.path).catch(() => null);
    return found !== null && `${found.dev}:${found.ino}` === this.#place;
  }

  async #closeFile(): Promise<void> {
    const file = this.#file;
    this.#file = null;
    await file?.close().catch(() => undefined);
  }

  #tell(problem: string | null): void {
    if ((problem === null) === (this.#problem === null)) return;
    this.#problem = problem;
    this.#options.changed(problem);
  }
}

const startOfLine = ({ bytes, written }: Chunk): number =>
  written === 0 ? 0 : bytes.lastIndexOf(LINE_END, written - 1) + 1;

/** A process that was killed may have left half a line. */
const endTornLine = async (file: FileHandle): Promise<void> => {
  const found = await file.stat();
  if (!found.isFile() || found.size === 0) return;
  const last = Buffer.alloc(1);
  await file.read(last, 0, 1, found.size - 1);
  if (last[0] !== LINE_END) await file.write('\n');
};
