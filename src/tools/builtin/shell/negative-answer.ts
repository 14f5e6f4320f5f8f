/** Programs that say "no" with exit code 1 and "I could not" with another, and what their 1 means. */
const NEGATIVE_ANSWERS: readonly (readonly [program: RegExp, answer: string])[] = [
  [/^(?:e|f|z)?grep\s/, 'Nothing matched'],
  [/^(?:rg|pgrep)\s/, 'Nothing matched'],
  [/^(?:which|command\s+-v)\s/, 'Not every program was found'],
  [/^(?:diff|cmp)\s/, 'They differ'],
  [/^(?:test|\[|\[\[)\s/, 'The test is false'],
];

// One word for whatever a shell takes as it stands. Nothing in double quotes that would be run.
const QUOTED = /\\.|'[^']*'|"(?:[^"\\`$]|\\.|\$(?![({]))*"/gs;
const STREAM_COPIES = /\d?>&\d/g;
// It says on stderr why it fails.
const CHANGES_DIRECTORY = /^cd\s+[^\s;&|<>]+\s*&&/;
// More than one command after another, or something that is not understood here: what it was that ended with 1 is not known.
const NOT_PLAIN = /[;&()`$'"\n\\]|\|\s*\||(?:^|\s)#/;

/**
 * What it means that a command ended with exit code 1 and an empty stderr: the answer of its last program, in a few
 * words; null where it is a failure, and for every command that is more than one pipeline of plain words.
 */
export const toNegativeAnswer = (command: string): string | null => {
  const words = command.trim().replace(QUOTED, '_').replace(STREAM_COPIES, '').replace(CHANGES_DIRECTORY, '');
  if (NOT_PLAIN.test(words)) return null;
  const last = words.split('|').at(-1)?.trim() ?? '';
  return NEGATIVE_ANSWERS.find(([program]) => program.test(`${last} `))?.[1] ?? null;
};
