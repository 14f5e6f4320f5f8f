import type { Overview } from '../contract/contract.ts';
import type { Viewer } from '../states/warnings.ts';

/** Answers are as old as this at most, in milliseconds: one computation serves all who ask for the same within it. */
export const SHARED_MS = 2000;
// Those who ask for something that nobody has asked for lately displace it.
const MOST_SHARED = 256;

export type Shown = {
  /** JSON text. */
  readonly json: string;
  /** The same without its time: what tells whether anything has changed. */
  readonly content: string;
  readonly tools: readonly string[];
};

/**
 * One overview, for those who may see the same.
 *
 * | state   | `#latest`  | becomes                                                    |
 * |---------|------------|------------------------------------------------------------|
 * | unread  | null       | read: the first that asks                                   |
 * | read    | a promise  | stale: 2 s after it was asked for                            |
 * | stale   | a promise  | read: the next that asks, or a listener's next turn          |
 */
export class SharedOverview {
  readonly #read: () => Promise<Overview>;
  readonly #listeners = new Set<(shown: Shown) => void>();
  #latest: Promise<Shown> | null = null;
  #askedAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  constructor(read: () => Promise<Overview>) {
    this.#read = read;
  }

  get isFollowed(): boolean {
    return this.#listeners.size > 0;
  }

  latest(): Promise<Shown> {
    const now = performance.now();
    // One reading at a time, however long it takes.
    if (this.#latest === null || now - this.#askedAt >= SHARED_MS) {
      this.#askedAt = Number.POSITIVE_INFINITY;
      const begun = this.#read().then(show);
      this.#latest = begun;
      void begun.then(
        () => {
          this.#askedAt = now;
        },
        () => {
          this.#latest = null;
        },
      );
    }
    return this.#latest;
  }

  /** Calls the listener with each reading until that is ended. */
  follow(listener: (shown: Shown) => void): () => void {
    this.#listeners.add(listener);
    this.#timer ??= setInterval(() => void this.#notify(), SHARED_MS).unref();
    return () => {
      this.#listeners.delete(listener);
      if (this.isFollowed) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    };
  }

  /** A reading that fails is left out: the next one comes. */
  async #notify(): Promise<void> {
    const shown = await this.latest().catch(() => null);
    if (shown !== null) for (const listener of this.#listeners) listener(shown);
  }
}

const show = ({ at, ...content }: Overview): Shown => {
  const text = JSON.stringify(content);
  return {
    json: `{"at":${JSON.stringify(at)},${text.slice(1)}`,
    content: text,
    tools: content.figures.tools.map(({ tool }) => tool),
  };
};

/** Who asks: `holder` tells the anonymous callers of a tenant apart. */
export type OverviewReader = Viewer & { readonly holder: string };

/** Gives those who may see the same the same overview. */
export const createSharedOverviews = (read: (reader: OverviewReader) => Promise<Overview>) => {
  const numbers = new WeakMap<OverviewReader['mayUse'], number>();
  let last = 0;
  const numberOf = (mayUse: OverviewReader['mayUse']): number => {
    const number = numbers.get(mayUse) ?? ++last;
    numbers.set(mayUse, number);
    return number;
  };
  const shared = new Map<string, SharedOverview>();
  return (reader: OverviewReader): SharedOverview => {
    const { tenant, holder, may, mayUse } = reader;
    const key = `${tenant} ${holder} ${numberOf(mayUse)} ${may('operate')}`;
    const found = shared.get(key) ?? new SharedOverview(() => read(reader));
    shared.delete(key);
    shared.set(key, found);
    for (const [name, { isFollowed }] of shared)
      if (shared.size > MOST_SHARED && !isFollowed && name !== key) shared.delete(name);
    return found;
  };
};
