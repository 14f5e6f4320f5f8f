import {
  copyState,
  type Decide,
  type Fields,
  type Kind,
  NO_FIELDS,
  toFields,
  toHeapBytes,
  toTtlMs,
} from 'recourse-server/store/record-store';
import { type CommandTimeout, type TimedWait, UNSENT } from './command-timeout.ts';
import type { Conflict, Swap, SwapSender } from './swap-sender.ts';

// Who has lost so often asks to be the only writer for so long; the others wait so long before they try again.
const EXCLUSIVE_AFTER = 3;
const EXCLUSIVE_MS = 20;
const CLOSED_MS = 1;
// Before what got no answer is sent again, each time twice as long.
const [FIRST_PAUSE_MS, LAST_PAUSE_MS] = [2, 64] as const;
// Fields of writers: those that are gone would stay for as long as the record.
const MOST_WRITERS = 8;

const NO_ARGS: readonly string[] = [];

// As ioredis says that there is no connection: nobody needs to wait to learn more.
const isUnsent = (error: unknown): boolean =>
  error instanceof Error && /isn't (?:writeable|ready) and enableOfflineQueue/.test(error.message);

/** An update that waits for its answer. */
type Waiter<State> = TimedWait & {
  readonly decide: (state: State, now: number) => void;
  readonly finish: () => void;
  /** Nobody waits for it any more. */
  isOver: boolean;
};

/**
 * One record, as far as this process knows it.
 *
 * | state    | is known | updates that come    | becomes                                                           |
 * |----------|----------|----------------------|-------------------------------------------------------------------|
 * | idle     | maybe    | begin a swap         | swapping                                                          |
 * | swapping | yes      | wait for the next    | idle, or swapping with those that wait; closed; unsure            |
 * | closed   | yes      | are decided with it  | swapping, after 1 ms: another writer is the only one now          |
 * | unsure   | yes      | wait for the next    | swapping, with the same words: no answer came, and somebody waits |
 *
 * What is not answered and nobody waits for is given up: then nothing is known.
 */
export class RedisRecord<State, Saved> implements Swap {
  readonly keys: Swap['keys'];
  args = NO_ARGS;
  readonly #kind: Kind<State, Saved>;
  readonly #sender: SwapSender;
  readonly #weigh: (bytes: number, lifeMs: number) => void;
  #state: State;
  #saved: Saved;
  /** null: nothing is known; "": there is no record. */
  #version: string | null = null;
  #nextVersion = '';
  /** Of the state that is sent; 0: the record is deleted. */
  #ttlMs = 0;
  /** Fields of writers that are not this one. */
  #writers: readonly string[] = [];
  /** Those that are decided and not answered. */
  #decided: Waiter<State>[] = [];
  readonly #waiting: Waiter<State>[] = [];
  #isBusy = false;
  #pauseMs = 0;
  #losses = 0;
  /** The state was read after all that is decided on it had come. */
  #isFresh = false;

  constructor(
    kind: Kind<State, Saved>,
    keys: Swap['keys'],
    sender: SwapSender,
    weigh: (bytes: number, lifeMs: number) => void,
  ) {
    this.#kind = kind;
    this.keys = keys;
    this.#sender = sender;
    this.#weigh = weigh;
    this.#state = kind.create();
    this.#saved = kind.toSaved(this.#state, NO_FIELDS);
  }

  update<Result>(decide: Decide<State, Result>, timeout: CommandTimeout): Promise<Result> {
    return new Promise((resolve, reject) => {
      let result: { readonly value: Result } | null = null;
      const waiter: Waiter<State> = {
        previous: null,
        next: null,
        isOver: false,
        // What waits for another swap is on its way now.
        since: this.#isBusy ? performance.now() : UNSENT,
        decide: (state, now) => {
          result = { value: decide(state, now) };
        },
        finish: () => {
          timeout.remove(waiter);
          if (result !== null) resolve(result.value);
        },
        giveUp: (error) => {
          timeout.remove(waiter);
          waiter.isOver = true;
          reject(error);
        },
      };
      timeout.add(waiter);
      this.#waiting.push(waiter);
      if (!this.#isBusy) this.#begin();
    });
  }

  /** A copy of the last state that is known, with what was decided on it and has had no answer; null: there is none. */
  copy(): State | null {
    return copyState(this.#kind, this.#state);
  }

  /** The record is gone, as far as nothing is on its way that may have made it again. */
  deleted(): void {
    if (!this.#isBusy) this.#load(NO_FIELDS);
  }

  #begin(): void {
    this.#isBusy = true;
    // That there is no record is as good a guess as any: the answer to it is the record.
    if (this.#version === null) this.#load(NO_FIELDS);
    this.#decide();
  }

  #load(fields: Fields): void {
    this.#version = fields.get('v') ?? '';
    // Where there are fields, nothing has changed since the changes were taken.
    if (this.#version !== '' && this.#kind.refresh !== undefined) this.#kind.refresh(this.#state, this.#saved, fields);
    else {
      this.#state = this.#version === '' ? this.#kind.create() : this.#kind.decode(fields);
      this.#saved = this.#kind.toSaved(this.#state, fields);
    }
    const writers: string[] = [];
    for (const name of fields.keys()) if (name.startsWith('w:') && name !== this.#sender.writer) writers.push(name);
    this.#writers = writers;
  }

  /** Decides all that waits, and swaps. */
  #decide(): void {
    const isFresh = this.#isFresh && this.#waiting.length === 0;
    this.#isFresh = false;
    this.#decided = [...this.#decided, ...this.#waiting].filter(({ isOver }) => !isOver);
    // Emptied, not replaced: an array that lives from one round of a session to the next is in V8's old generation, and as garbage there it
    // would keep the whole request that it was last given.
    this.#waiting.length = 0;
    const now = this.#sender.now();
    for (const waiter of this.#decided) {
      try {
        waiter.decide(this.#state, now);
      } catch (error) {
        waiter.giveUp(error);
        // Half a decision is in the state: it is read anew, and the others are decided on that.
        this.#load(NO_FIELDS);
        this.#decide();
        return;
      }
    }
    if (this.#decided.length === 0) this.#end();
    else this.#swap(isFresh);
  }

  #swap(isFresh: boolean): void {
    const { set, gone } = this.#kind.changes(this.#state, this.#saved);
    const added = this.#kind.takeAdded(this.#state);
    const isCheck = set.length === 0 && gone.length === 0 && added.length === 0;
    // What began before the state was read, and changes nothing, has its answer.
    if (isCheck && isFresh) {
      this.#end();
      return;
    }
    this.#nextVersion = isCheck ? '' : this.#sender.nextVersion();
    const old = this.#takeOldWriters();
    const exclusive = this.#losses >= EXCLUSIVE_AFTER ? EXCLUSIVE_MS : 0;
    this.#ttlMs = toTtlMs(this.#kind, this.#state, this.#sender.now());
    const counts = `${this.#ttlMs} ${set.length} ${gone.length + old.length} ${added.length === 0 ? 0 : this.#kind.toKeep(this.#state)} ${added.length} ${exclusive}`;
    const args = [this.#version ?? '', this.#nextVersion, counts, ...set, ...gone, ...old];
    for (const element of added) args.push(element);
    this.args = args;
    this.#pauseMs = 0;
    this.#sender.gather(this);
  }

  #takeOldWriters(): readonly string[] {
    if (this.#writers.length <= MOST_WRITERS) return [];
    const old = this.#writers;
    this.#writers = [];
    return old;
  }

  written(): void {
    if (this.#ttlMs === 0) this.#load(NO_FIELDS);
    else if (this.#nextVersion !== '') this.#version = this.#nextVersion;
    this.#end();
  }

  conflicted([words, isClosed]: Conflict): void {
    this.#sender.noteConflict();
    const fields = toFields(words);
    // Measured: otherwise V8 carries the texts of each answer to its old generation, where they cost more than all else here.
    words.length = 0;
    // It was sent again as it was: this writer's field tells whether it had been applied, whatever came after it.
    const wasApplied =
      this.#pauseMs > 0 && this.#nextVersion !== '' && fields.get(this.#sender.writer) === this.#nextVersion;
    this.#load(fields);
    this.#losses += 1;
    if (wasApplied) {
      this.#end();
      return;
    }
    this.#isFresh = isClosed === 0;
    if (isClosed === 0) this.#decide();
    else setTimeout(() => this.#decide(), CLOSED_MS);
  }

  refused(error: Error): void {
    this.#fail(error);
  }

  lost(error: unknown): void {
    if (this.#decided.every(({ isOver }) => isOver) || (this.#pauseMs === 0 && isUnsent(error))) {
      this.#fail(error);
      return;
    }
    this.#pauseMs = Math.min(LAST_PAUSE_MS, Math.max(FIRST_PAUSE_MS, 2 * this.#pauseMs));
    setTimeout(() => {
      if (this.#decided.every(({ isOver }) => isOver)) this.#fail(error);
      else this.#sender.gather(this);
    }, this.#pauseMs);
  }

  #end(): void {
    const decided = this.#decided;
    this.#decided = [];
    this.#losses = 0;
    this.args = NO_ARGS;
    for (const waiter of decided) waiter.finish();
    this.#goOn();
  }

  /** What was decided on the state is not saved, or may not be: nothing is known of the record any more. */
  #fail(error: unknown): void {
    const decided = this.#decided;
    this.#decided = [];
    this.#losses = 0;
    this.#version = null;
    for (const waiter of decided) waiter.giveUp(error);
    this.#goOn();
  }

  // Also after a failure: the state stays in memory, for `copy`.
  #goOn(): void {
    this.#weigh(toHeapBytes(this.#kind, this.#state), toTtlMs(this.#kind, this.#state, this.#sender.now()));
    if (this.#waiting.length > 0) this.#begin();
    else this.#isBusy = false;
  }
}
