/** How long the longest form is that stands at a place of the text; 0 where none does. */
export type MeasureForm = (start: number) => number;

/** All forms alike in length and in how they begin. `power` is of the hash, for texts of that length. */
type Alike = { readonly length: number; readonly power: number; readonly hashes: Set<number> };

/** Forms are told apart by this many characters, by their length, and by the hash of all of it. None is shorter. */
const BEGINNING = 8;
const BASE = 0x01_00_01_93;

/**
 * Finds which form stands at a place in a time that does not grow with its length, so that a text full of beginnings of a
 * form is looked through as fast as any other. A text that begins as a form does and has its length and its hash is taken
 * for it: one in four thousand million of those that begin so.
 */
export const createFormIndex = (forms: readonly string[]): ((text: string) => MeasureForm) => {
  const known = new Map<string, Alike[]>();
  for (const form of forms) addForm(known, form);
  for (const alike of known.values()) alike.sort((one, other) => other.length - one.length);
  return (text) => {
    // Most texts that are looked through hold no beginning of a form.
    let hashes: Int32Array | null = null;
    return (start) => {
      const alike = known.get(text.slice(start, start + BEGINNING));
      if (alike === undefined) return 0;
      hashes ??= toHashes(text);
      return measure(alike, hashes, start);
    };
  };
};

const addForm = (known: Map<string, Alike[]>, form: string): void => {
  const beginning = form.slice(0, BEGINNING);
  const alike = known.get(beginning) ?? [];
  known.set(beginning, alike);
  const hash = toHashes(form)[form.length] ?? 0;
  const same = alike.find(({ length }) => length === form.length);
  if (same === undefined) alike.push({ length: form.length, power: toPower(form.length), hashes: new Set([hash]) });
  else same.hashes.add(hash);
};

const measure = (alike: readonly Alike[], hashes: Int32Array, start: number): number => {
  const before = hashes[start] ?? 0;
  for (const { length, power, hashes: ofForms } of alike) {
    const end = start + length;
    if (end >= hashes.length) continue;
    if (ofForms.has(((hashes[end] ?? 0) - Math.imul(before, power)) | 0)) return length;
  }
  return 0;
};

/** The hash of each beginning of a text; from two of them comes that of what is between. */
const toHashes = (text: string): Int32Array => {
  const hashes = new Int32Array(text.length + 1);
  let hash = 0;
  for (let place = 0; place < text.length; place += 1) {
    hash = (Math.imul(hash, BASE) + text.charCodeAt(place)) | 0;
    hashes[place + 1] = hash;
  }
  return hashes;
};

const toPower = (length: number): number => {
  let power = 1;
  for (let place = 0; place < length; place += 1) power = Math.imul(power, BASE);
  return power;
};
