import type { Found } from './found.ts';
import { isEscaped, someReading } from './text-readings.ts';

/** Finds registered values in a text, however many escapes of JSON and URLs it is written with. */
export type RegisteredFinder = {
  /** Whether the text holds one. */
  readonly isIn: (text: string) => boolean;
  /** Each place where one stands. */
  readonly find: (text: string) => readonly Found[];
};

/** How each registered value may be written, and which value that is. No form has fewer than eight characters. */
export type Forms = ReadonlyMap<string, number>;

/**
 * Finds these forms, whole: what only begins like one is any text, and is treated as any other. Otherwise a caller could
 * learn a value character by character. A look takes a nanosecond or less a character, however many forms there are,
 * where one expression of all took up to ten, and can be too large for V8.
 */
export const createRegisteredFinder = (forms: Forms): RegisteredFinder | null => {
  if (forms.size === 0) return null;
  const someStart = createQuickLook([...forms.keys()]);
  const formsIn = createFormIndex(forms.keys());
  const holds = (text: string): boolean => {
    const formAt = formsIn(text);
    return someStart(text, (start) => formAt(start) !== null);
  };
  const isIn = (text: string): boolean =>
    holds(text) || (isEscaped(text) && someReading(text, (reading) => reading.text !== text && holds(reading.text)));
  return { isIn, find: (text) => (isIn(text) ? findAll(text) : []) };

  function findAll(text: string): readonly Found[] {
    const found: Found[] = [];
    someReading(text, (reading) => {
      const formAt = formsIn(reading.text);
      let toOriginal: ((place: number) => number) | null = null;
      someStart(reading.text, (start) => {
        const form = formAt(start);
        if (form === null) return false;
        toOriginal ??= reading.locate();
        const end = toOriginal(start + form.length);
        found.push({ start: toOriginal(start), end, instead: '[redacted]', secret: forms.get(form) ?? null });
        return false;
      });
      return false;
    });
    return found;
  }
};

/** How many characters a piece has. */
const PIECE = 4;
const MAX_STEP = 13;

/** Calls back with each place where a form may begin, from left to right, until that is enough; whether it was. */
type SomeStart = (text: string, isEnough: (start: number) => boolean) => boolean;

/** Looks at four characters in every few: wherever a form lies, one of its first pieces begins where this looks. */
const createQuickLook = (forms: readonly string[]): SomeStart => {
  const shortest = forms.reduce((least, { length }) => Math.min(least, length), Number.POSITIVE_INFINITY);
  const step = Math.min(shortest - PIECE + 1, MAX_STEP);
  const offsets = new Map<string, number[]>();
  // From the last: the form that begins first is told of first.
  for (let offset = step - 1; offset >= 0; offset -= 1)
    for (const form of forms) addOffset(offsets, form.slice(offset, offset + PIECE), offset);
  const mayStand = createPieceSlots(new Set(offsets.keys()));
  return (text, isEnough) => {
    const last = text.length - PIECE;
    for (let at = 0; at <= last; at += step) {
      if (!mayStand(text, at)) continue;
      const known = offsets.get(text.slice(at, at + PIECE));
      if (known?.some((offset) => offset <= at && isEnough(at - offset))) return true;
    }
    return false;
  };
};

const addOffset = (offsets: Map<string, number[]>, piece: string, offset: number): void => {
  const known = offsets.get(piece);
  if (known === undefined) offsets.set(piece, [offset]);
  else if (known.at(-1) !== offset) known.push(offset);
};

// Almost every look at another text ends there: with eight slots a piece it took more than twice as long.
const SLOTS_PER_PIECE = 32;
const MIN_SLOTS = 4096;
const MAX_SLOTS = 1_048_576;

/** Says whether one of these pieces may stand at a place of a text: in a nanosecond, where a look into a set takes thirty. */
const createPieceSlots = (pieces: ReadonlySet<string>): ((text: string, at: number) => boolean) => {
  let size = MIN_SLOTS;
  while (size < pieces.size * SLOTS_PER_PIECE && size < MAX_SLOTS) size *= 2;
  const slots = new Uint8Array(size);
  const shift = Math.clz32(size - 1);
  for (const piece of pieces) slots[toPieceHash(piece, 0) >>> shift] = 1;
  return (text, at) => slots[toPieceHash(text, at) >>> shift] === 1;
};

// The upper bits of the product depend on all four characters (Knuth, The Art of Computer Programming 3, 6.4).
const toPieceHash = (text: string, at: number): number =>
  Math.imul(
    text.charCodeAt(at) ^
      (text.charCodeAt(at + 1) << 8) ^
      (text.charCodeAt(at + 2) << 16) ^
      (text.charCodeAt(at + 3) << 24),
    0x9e_37_79_b1,
  );

/** All forms alike in length and in how they begin, by the hash of all of it. `power` is of the hash, for that length. */
type Alike = { readonly length: number; readonly power: number; readonly byHash: Map<number, string[]> };

/** Forms are told apart by this many characters, by their length, by the hash of all of it, and last by comparing. */
const BEGINNING = 8;
const BASE = 0x01_00_01_93;

/**
 * Says which form stands at a place of a text, the longest where several do; null where none does. The time does not grow
 * with the length of forms that begin alike: a text full of beginnings of a form is looked through as fast as any other.
 */
const createFormIndex = (forms: Iterable<string>): ((text: string) => (start: number) => string | null) => {
  const known = new Map<string, Alike[]>();
  for (const form of forms) addForm(known, form);
  for (const alike of known.values()) alike.sort((one, other) => other.length - one.length);
  return (text) => {
    // Most texts that are looked through hold no beginning of a form.
    let hashes: Int32Array | null = null;
    return (start) => {
      const alike = known.get(text.slice(start, start + BEGINNING));
      if (alike === undefined) return null;
      hashes ??= toHashes(text);
      return findForm(alike, text, hashes, start);
    };
  };
};

const addForm = (known: Map<string, Alike[]>, form: string): void => {
  const beginning = form.slice(0, BEGINNING);
  const alike = known.get(beginning) ?? [];
  known.set(beginning, alike);
  const hash = toHashes(form)[form.length] ?? 0;
  const same = alike.find(({ length }) => length === form.length);
  if (same === undefined)
    alike.push({ length: form.length, power: toPower(form.length), byHash: new Map([[hash, [form]]]) });
  else same.byHash.set(hash, [...(same.byHash.get(hash) ?? []), form]);
};

const findForm = (alike: readonly Alike[], text: string, hashes: Int32Array, start: number): string | null => {
  const before = hashes[start] ?? 0;
  for (const { length, power, byHash } of alike) {
    const end = start + length;
    if (end >= hashes.length) continue;
    const hash = ((hashes[end] ?? 0) - Math.imul(before, power)) | 0;
    const form = byHash.get(hash)?.find((one) => text.startsWith(one, start));
    if (form !== undefined) return form;
  }
  return null;
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
