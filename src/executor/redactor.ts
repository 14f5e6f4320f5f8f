/** Where a text that held a secret was going. */
export type RedactedIn = 'result' | 'journal' | 'log' | 'span';

/** The text of the caller that an answer goes to: a secret that it sent itself stands in its answer as it is. */
export type SentText = () => string;

/**
 * Takes secrets out of what leaves the service. A secret is replaced whole or not at all: what stands in a text beside
 * one, or begins like one, comes out as it went in. Gives the same text where there is nothing to take out. Total: what it
 * fails at is `[redacted]` whole, and where JSON is given, JSON of the same kind.
 */
export type Redactor = {
  /** Text of a failure, or for people: without registered values and without shapes of secrets. */
  readonly text: (text: string, place: RedactedIn, sent?: SentText) => string;
  /**
   * The same of the text's first `limit` characters. Redacted before it is cut, with `LOOKAHEAD` characters behind the cut in
   * view: what is shown holds no part of a secret of up to that length.
   */
  readonly cut: (text: string, limit: number, place: RedactedIn, sent?: SentText) => string;
  /** What a tool says beside its value, cut likewise: without registered values. */
  readonly cutToolText: (text: string, limit: number, place: RedactedIn, sent?: SentText) => string;
  /** JSON text of a tool's value without registered values; all else of it stays as it is written. */
  readonly value: (json: string, place: RedactedIn, sent?: SentText) => string;
  /** A result that was kept as JSON text, without values that have been registered since. */
  readonly result: (json: string, place: RedactedIn, sent?: SentText) => string;
  /** Whether a registered value is in a text, which is left as it is. */
  readonly containsSecret: (text: string) => boolean;
  /** Whether a text, JSON or not, may hold what `cut` replaces. A secret written with escapes of its own may be missed. */
  readonly mayContainSecret: (text: string) => boolean;
};
