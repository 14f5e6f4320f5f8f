export type Variables = Readonly<Record<string, string | undefined>>;

/** 0 = done, 1 = it failed, 2 = the words of the command line are wrong. */
export type ExitCode = 0 | 1 | 2;

/** Variables of the environment, and of a file beside them. */
export type LoadedEnvironment = {
  /** What the process was started with, and what the file adds: a variable that was there before keeps its value. */
  readonly variables: Variables;
  /** What the process was started with. */
  readonly before: Variables;
  /** The file that was read, as an absolute path; null where there is none. */
  readonly file: string | null;
  /** Why the file cannot be read, in one sentence; null where it can, or where there is none. */
  readonly mistake: string | null;
};

/** Where a command writes, and for whom. */
export type Terminal = {
  readonly write: (text: string) => void;
  readonly writeError: (text: string) => void;
  /** Columns of the terminal; Infinity where stdout is a file or another program. */
  readonly columns: number;
  readonly colors: 'on' | 'off';
};

/** How a command that was understood ends; `wrong` where it was not, with a sentence that says what to do. */
export type CommandEnd = ExitCode | { readonly wrong: string };

/** What commands know of the process that they run in. */
export type CliContext = {
  readonly terminal: Terminal;
  /** Reads a file of variables: the one named, or `.env` of the working directory where there is one. */
  readonly loadEnvironment: (file?: string) => LoadedEnvironment;
  /** All of stdin, as text. */
  readonly readInput: () => Promise<string>;
};
