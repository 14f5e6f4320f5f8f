/** A call for the journal. */
export type JournalLine = {
  /** Whose retries left are entered; null = nobody's. */
  readonly tool: string | null;
  /** A JSON object's text, to which the store adds `retries_left`: what the tool has left after the round, or null. */
  readonly json: string;
};

/** The journal's lines of one round, not written until they are asked for. */
export type RoundJournal = {
  /** How many; at least 1. */
  readonly lines: number;
  /** How many lines at its end are of refused calls. */
  readonly refused: number;
  /** What it keeps of the heap until it is rendered, in bytes; reading it costs nothing. */
  readonly bytes: number;
  /** The lines, in the order of the batch: rendered and redacted each time. */
  readonly render: () => readonly JournalLine[];
  /**
   * The round as one text without line breaks, of which `UnpackRound` makes the lines later and elsewhere; null where they have to
   * be rendered now. Holds nothing that looks like a secret.
   */
  readonly pack: () => string | null;
};

/** The lines of a packed round, rendered and redacted; none where the text is not one. */
export type UnpackRound = (packed: string) => readonly JournalLine[];
