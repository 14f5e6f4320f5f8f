import { styleText } from 'node:util';

/** The words of a command line ask for nothing that can be done: a sentence that says what to write. Exit code 2. */
export class WrongUse extends Error {}

/** A command that was understood has failed: the text that stderr shows. Exit code 1. */
export class CommandFailed extends Error {
  /** Of HTTP, where a service answered so. */
  readonly status: number | null;

  constructor(message: string, status: number | null = null) {
    super(message);
    this.status = status;
  }
}

export type Paint = (style: 'bold' | 'dim' | 'green' | 'red' | 'yellow', text: string) => string;

/** Colours a text, or leaves it as it is. */
export const createPaint = (colors: 'on' | 'off'): Paint =>
  colors === 'on' ? (style, text) => styleText(style, text, { validateStream: false }) : (_style, text) => text;

const WIDTH = 10;

/** A name and what is to be said of it, which may have several lines. */
export const formatRow = (name: string, text: string, paint: Paint): string => {
  const [first = '', ...more] = text.split('\n');
  const indent = ' '.repeat(WIDTH + 2);
  return [`  ${paint('dim', name.padEnd(WIDTH))}${first}`, ...more.map((line) => `${indent}${line}`)].join('\n');
};

/** `1 tool`, `2 tools`. */
export const formatCount = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** The message of whatever was thrown. */
export const readMessage = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/**
 * JSON as it is, but for characters in its texts that a terminal may take for commands, or that turn the writing around:
 * JSON.stringify leaves these; here they are escaped.
 */
export const escapeForTerminal = (json: string): string =>
  json.replace(/[\u007f-\u009f\p{Cf}]/gu, (sign) =>
    [...Array(sign.length).keys()].map((at) => `\\u${sign.charCodeAt(at).toString(16).padStart(4, '0')}`).join(''),
  );

// Two columns each: East Asian wide and fullwidth characters, and whatever may be drawn as an emoji.
const WIDE =
  /[\u1100-\u115f\u2329\u232a\u2e80-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{1b2ff}\u{1d300}-\u{1d376}\u{1f1e6}-\u{1f1ff}\u{1f200}-\u{1f265}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|\p{Extended_Pictographic}/u;

// Never less than a terminal takes, and never less than cli-table3 reckons: it would cut in the middle of a character.
const columnsOf = (character: string): number => (WIDE.test(character) ? 2 : 1);

/** A plain text in at most this many columns of a terminal, with an ellipsis where something is missing. */
export const cutToColumns = (text: string, columns: number): string => {
  const characters = [...text];
  let used = 0;
  let shown = 0;
  let fitting = 0;
  while (shown < characters.length && used <= columns) {
    used += columnsOf(characters[shown] ?? '');
    shown += 1;
    if (used < columns) fitting = shown;
  }
  return used <= columns ? text : `${characters.slice(0, fitting).join('')}…`;
};
