import { stripVTControlCharacters } from 'node:util';
import type { LoadedEnvironment } from '../config/read-configuration.ts';

/** 0 = done, 1 = it failed, 2 = the words of the command line are wrong. */
export type ExitCode = 0 | 1 | 2;

/** Where a command writes, and for whom. */
export type Terminal = {
  readonly write: (text: string) => void;
  readonly writeError: (text: string) => void;
  /** Columns of the terminal; Infinity where stdout is a file or another program. */
  readonly columns: number;
  readonly colors: 'on' | 'off';
};

/** What commands know of the process that they run in. */
export type CliContext = {
  readonly terminal: Terminal;
  /** Reads a file of variables: the one named, or `.env` of the working directory where there is one. */
  readonly loadEnvironment: (file?: string) => LoadedEnvironment;
  /** All of stdin, as text. */
  readonly readInput: () => Promise<string>;
  /** Asks a person, on stderr, and reads a line of the answer; null where stdin is no terminal. */
  readonly ask: ((question: string) => Promise<string>) | null;
};

/**
 * A text from elsewhere as one line that a terminal only shows: colours and cursor movements are left out, other
 * control characters become their pictures (␛), and what is invisible or turns the writing around is left out.
 */
export const toPlainText = (text: string): string => toShown(withoutMarks(text).replace(/\s+/g, ' ')).trim();

const withoutMarks = (text: string): string => stripVTControlCharacters(text).replace(/\p{Cf}/gu, '');

const toShown = (line: string): string =>
  line.replace(/\p{Cc}/gu, toPicture).replace(/[\p{Cs}\p{Co}\p{Cn}]/gu, '\ufffd');

/** The same for a text of several lines: its line ends and blanks stay. */
export const toPlainLines = (text: string): string =>
  withoutMarks(text)
    .split(/\r?\n/)
    .map((line) => toShown(line.replaceAll('\t', ' ')))
    .join('\n');

const toPicture = (control: string): string => {
  const code = control.charCodeAt(0);
  if (code === 0x7f) return '\u2421';
  return code < 0x20 ? String.fromCharCode(0x2400 + code) : '\ufffd';
};
