import { randomBytes } from 'node:crypto';
import { CommandTimeout } from './command-timeout.ts';
import { createScript, type RedisClient } from './redis-client.ts';

export type SwapOptions = {
  readonly client: Pick<RedisClient, 'send' | 'topology'> & Partial<Pick<RedisClient, 'preload'>>;
  /** Milliseconds that an update waits. */
  readonly timeouts: Readonly<Record<'short' | 'long', number>>;
  /** For tests: how far the store's time is ahead of the server's clock, in milliseconds. */
  readonly skewMs?: () => number;
  /** Called where another process has written meanwhile. */
  readonly onConflict?: () => void;
};

const MOST_TOGETHER = 32;

// Clocks that tick apart by more than that are broken.
const DRIFT = 0.001;
const SET_BACK_MS = 1000;

const SCRIPT = new URL('swap.lua', import.meta.url);

/** What the answer to a swap may be, beside that all was written. */
export type Conflict = readonly [words: string[], isClosed: number];

// By hand and without copies: an answer has fifty texts of a session, and thirty-two sessions.
const isConflict = (one: unknown): one is Conflict =>
  Array.isArray(one) && Array.isArray(one[0]) && typeof one[1] === 'number' && one[0].every(isText);

const isText = (word: unknown): boolean => typeof word === 'string';

/** What Redis itself says of one swap of several, by the name that ioredis gives to such an answer. */
class SwapRefusal extends Error {
  override readonly name = 'ReplyError';
}

/** A swap of one record that is to be sent. */
export type Swap = {
  readonly keys: readonly [hash: string, list: string];
  readonly args: readonly string[];
  readonly written: () => void;
  readonly refused: (error: Error) => void;
  readonly conflicted: (conflict: Conflict) => void;
  /** No answer has come: it may have been applied. */
  readonly lost: (error: unknown) => void;
};

/** Sends the swaps of all records. Also what these have in common: the name of this writer, the server's clock, how long is waited. */
export class SwapSender {
  readonly #options: SwapOptions;
  readonly writer = `w:${randomBytes(6).toString('base64url')}`;
  readonly timeouts: Readonly<Record<'short' | 'long', CommandTimeout>>;
  readonly #most: number;
  readonly #run: ReturnType<typeof createScript>;
  #gathered: Swap[] = [];
  #sequence = 0;
  /** How far the server's clock is ahead of the time that this process has run. Before the first answer it is that of this machine. */
  #offset = { ms: performance.timeOrigin, at: Number.NEGATIVE_INFINITY };

  constructor(options: SwapOptions) {
    this.#options = options;
    this.#most = options.client.topology === 'cluster' ? 1 : MOST_TOGETHER;
    this.timeouts = {
      short: new CommandTimeout(options.timeouts.short),
      long: new CommandTimeout(options.timeouts.long),
    };
    const { send, preload } = options.client;
    this.#run = createScript(send, SCRIPT, preload);
  }

  /** The server's time, as far as its last answer tells. Not by this machine's clock, which may be set. */
  now(): number {
    return Math.floor(performance.now() + this.#offset.ms) + (this.#options.skewMs?.() ?? 0);
  }

  /** The answer to another command of a record; as patient as a long update. */
  ask(command: string, ...words: string[]): Promise<unknown> {
    const answer = this.timeouts.long.wait(this.#options.client.send(command, ...words));
    this.timeouts.long.begin(performance.now());
    return answer;
  }

  noteConflict(): void {
    this.#options.onConflict?.();
  }

  /** A version that no record has ever had. */
  nextVersion(): string {
    this.#sequence += 1;
    return this.writer.slice(2) + this.#sequence.toString(36);
  }

  /** Sends a swap with the others of this turn of the event loop. */
  gather(swap: Swap): void {
    this.#gathered.push(swap);
    if (this.#gathered.length >= this.#most) this.#sendGathered();
    else if (this.#gathered.length === 1) setImmediate(() => this.#sendGathered());
  }

  #sendGathered(): void {
    const swaps = this.#gathered;
    if (swaps.length === 0) return;
    this.#gathered = [];
    const words = [String(2 * swaps.length)];
    for (const { keys } of swaps) words.push(keys[0], keys[1]);
    words.push(this.writer);
    for (const { args } of swaps) for (const word of args) words.push(word);
    const now = performance.now();
    this.timeouts.short.begin(now);
    this.timeouts.long.begin(now);
    this.#run(words).then(
      (answer) => this.#answer(swaps, answer),
      (error: unknown) => {
        for (const swap of swaps)
          if (isReply(error)) swap.refused(error);
          else swap.lost(error);
      },
    );
  }

  /**
   * Each answer tells a time that is over by as long as it was on its way: the one that was fastest of late tells it best. One that is
   * behind that by more than a second is of a clock that was set back.
   */
  #setTime(time: number): void {
    const at = performance.now();
    const reported = time - at;
    const known = this.#offset.ms - (at - this.#offset.at) * DRIFT;
    this.#offset = { ms: reported < known - SET_BACK_MS ? reported : Math.max(reported, known), at };
  }

  #answer(swaps: readonly Swap[], answer: unknown): void {
    const answers: readonly unknown[] = Array.isArray(answer) ? answer : [];
    const [time] = answers;
    if (typeof time === 'number') this.#setTime(time);
    for (const [at, swap] of swaps.entries()) notify(swap, answers[at + 1]);
  }
}

const notify = (swap: Swap, answer: unknown): void => {
  if (answer === 1) swap.written();
  else if (isConflict(answer)) swap.conflicted(answer);
  else if (typeof answer === 'string') swap.refused(new SwapRefusal(answer));
  else swap.refused(new Error('Redis answered a swap with something else.'));
};

const isReply = (error: unknown): error is Error => error instanceof Error && error.name === 'ReplyError';
