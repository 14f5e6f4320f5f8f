import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';

export const NOTES = 10_000;
const FOLDERS = 100;
const VOCABULARY = 20_000;

/** Words that notes are searched for: in every note, in about a fifth of them, and in ten. */
export const WORDS = { common: 'the', middling: 'w8ws', rare: 'zanzibar' } as const;

/** Ten thousand notes of some 2 to 5 kB in a hundred folders; their words are spread as in a language: few stand everywhere. */
export const writeNotes = async (root: string): Promise<number> => {
  let bytes = 0;
  const random = createRandom();
  for (let folder = 0; folder < FOLDERS; folder += 1) mkdirSync(join(root, `folder-${folder}`), { recursive: true });
  for (let number = 0; number < NOTES; number += 1) {
    // A signal that ends the bench is heard in between.
    if (number % 100 === 0) await setImmediate();
    const text = toNote(number, random);
    bytes += text.length;
    writeFileSync(join(root, `folder-${number % FOLDERS}`, `note-${number}.md`), text);
  }
  return bytes;
};

const toNote = (number: number, random: () => number): string => {
  const words = Array.from({ length: 400 + (number % 600) }, () => toWord(random));
  if (number % 1000 === 0) words.push(WORDS.rare);
  return `# Note ${number} about ${toWord(random)}\n\n${toLines(words).join('\n')}\n`;
};

const toWord = (random: () => number): string => {
  const rank = Math.floor(VOCABULARY ** random()) - 1;
  return rank === 0 ? WORDS.common : `w${rank.toString(36)}s`;
};

const toLines = (words: readonly string[]): readonly string[] =>
  Array.from({ length: Math.ceil(words.length / 12) }, (_, line) => words.slice(line * 12, line * 12 + 12).join(' '));

/** The same notes in every run. Source: mulberry32. */
const createRandom = (): (() => number) => {
  let state = 1;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
};
