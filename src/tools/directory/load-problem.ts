/** Something wrong with a tool file, and where: what `GET /tools`, the log and `recourse check` say of it. */
export type LoadProblem = {
  /** `error`: the file, or a tool of it, does not serve. `warning`: it serves, and may not do what its author expects. */
  readonly level: 'error' | 'warning';
  /** Relative to the tools directory. */
  readonly file: string;
  /** Counted from 1, as editors do. */
  readonly line: number | null;
  readonly column: number | null;
  readonly tool: string | null;
  /** The member of the declaration: `input`, `timeoutMs`. */
  readonly member: string | null;
  /** One sentence or two: what is wrong, and what to write instead. */
  readonly message: string;
  /** The source line, and below it a line with a caret. */
  readonly excerpt: string | null;
};

/** A problem of a file of which no more is known than a text. */
export const toPlainProblem = (file: string, message: string): LoadProblem => ({
  level: 'error',
  file,
  line: null,
  column: null,
  tool: null,
  member: null,
  message,
  excerpt: null,
});
