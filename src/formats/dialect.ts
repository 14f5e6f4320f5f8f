import type { MessageFormat } from '../contract/message-format.ts';
import type { ObservedResult } from './observed-result.ts';

/** What a provider's message asks for. */
export type ParsedTurn = {
  /** Entries of `calls` as the native envelope has them, in order; each is judged later, by itself. */
  readonly calls: readonly unknown[];
  /**
   * What the conversation goes on with: each call answered exactly once, under its own id. `results` are those of
   * `calls`, in order, and as many.
   */
  readonly toMessages: (results: readonly ObservedResult[]) => readonly unknown[];
};

/** One call that a turn is written from. */
export type TurnCall = {
  readonly id: string;
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
};

/** One answer as it is read back out of a conversation. `name` is null where the dialect does not repeat it. */
export type ReadAnswer = {
  readonly id: string | number | null;
  readonly name: string | null;
  readonly success: boolean;
  readonly text: string;
};

/** One way to write tool calls and their results. Pure: the same in, the same out, whatever comes in. */
export type Dialect = {
  readonly format: MessageFormat;
  /** Whether the body is unmistakably this dialect's. Never true for a body with `calls`. */
  readonly detects: (body: unknown) => boolean;
  /** null where the body is not this dialect's, or holds calls in another format; no calls where it is and holds none. */
  readonly parse: (body: unknown) => ParsedTurn | null;
  /** All that is answered with raw=true: the messages, or what the provider wants around them. */
  readonly toRaw: (messages: readonly unknown[]) => unknown;
  /** The turn in which a model asks for these calls: what `parse` reads. */
  readonly writeTurn: (calls: readonly TurnCall[]) => unknown;
  /** The answers that `toMessages` wrote, in order; what is no answer of this dialect is left out. */
  readonly readMessages: (messages: readonly unknown[]) => readonly ReadAnswer[];
};
