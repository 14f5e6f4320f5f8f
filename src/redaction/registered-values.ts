import { parseJson } from '../json/parse-json.ts';
import type { Found } from './find-shapes.ts';
import { type Unescape, unescapeBackslashes, unescapePercents } from './unescape-text.ts';

// Shorter values are not registered: as parts of other words they would wreck every text.
const MIN_SECRET_LENGTH = 8;

/**
 * What to look for when a secret value is looked for: the value and each of its parts, each in all its forms, as it is and
 * in Base64, of at least eight characters. Escapes of JSON and URLs are not among them: the finder takes them out of the
 * text.
 */
export const listSecretForms = (value: string): readonly (readonly string[])[] => {
  const parts = [value, value.trim(), ...listLines(value), ...listSecretMembers(value)].map((part) =>
    part.toWellFormed(),
  );
  const secrets = parts.filter((part) => part.length >= MIN_SECRET_LENGTH);
  return [...new Set(secrets)].map((secret) =>
    [...listReadForms(secret), ...listBase64(secret)].filter((form) => form.length >= MIN_SECRET_LENGTH),
  );
};

// Printed, a private key is so many lines; its first and last are no secret.
const listLines = (value: string): readonly string[] =>
  value.includes('\n')
    ? value.split(/\r?\n/).flatMap((line) => (/^-----.*-----$/.test(line) ? [] : [line.trim()]))
    : [];

// A file of credentials in a variable: what a tool shows of it is one member, not the whole.
const listSecretMembers = (value: string): readonly string[] => {
  const parsed = /^\s*[{[]/.test(value) ? parseJson(value) : null;
  return parsed?.ok ? findSecretMembers('', parsed.value, MAX_NESTING) : [];
};

const SECRET_MEMBER = /key|secret|token|password|credential/i;
// Deeper is no file of credentials.
const MAX_NESTING = 8;

const findSecretMembers = (name: string, value: unknown, levels: number): readonly string[] => {
  if (typeof value === 'string') return SECRET_MEMBER.test(name) ? [value, ...listLines(value)] : [];
  if (typeof value !== 'object' || value === null || levels === 0) return [];
  return Object.entries(value).flatMap(([own, member]: [string, unknown]) =>
    findSecretMembers(Array.isArray(value) ? name : own, member, levels - 1),
  );
};

/** As it is, and what may be left of it when the escapes around it are taken out. */
const listReadForms = (secret: string): readonly string[] => [
  secret,
  // A form writes spaces so, and what parses addresses turns backslashes and leaves out tabs and the ends of lines.
  secret.replaceAll(' ', '+'),
  secret.replaceAll('\\', '/').replace(/[\t\r\n]/g, ''),
  // What looks like an escape itself may have stayed as it is beside what was escaped.
  unescapePercents(secret) ?? secret,
  unescapeBackslashes(secret) ?? secret,
];

/** As it stands in the Base64 of any text around it: wherever it begins in one of three bytes. */
const listBase64 = (secret: string): readonly string[] => {
  const bytes = Buffer.from(secret);
  const texts = [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    // Signs that hold bits of what stands before or behind it too are not its own.
    return text.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
  });
  return texts.flatMap((text) => [text, text.replaceAll('+', '-').replaceAll('/', '_')]);
};

/** A text as it may be read, as it is or without some of its escapes; `locate` gives where its places lie in the original. */
type Reading = { readonly text: string; readonly locate: () => (place: number) => number };

// JSON in JSON in JSON, with addresses in it, has half as many. Of texts that are full of escapes of escapes some are left out.
const MAX_READINGS = 16;

// Not by `includes`, which takes V8 three times as long.
const isEscaped = (text: string): boolean => text.indexOf('\\') !== -1 || text.indexOf('%') !== -1;

/** Whether a reading of the text is what is looked for: itself first, and then with fewer and fewer escapes. */
const someReading = (text: string, isFound: (reading: Reading) => boolean): boolean => {
  const readings: Reading[] = [{ text, locate: () => (place) => place }];
  for (const reading of readings) {
    if (isFound(reading)) return true;
    if (!isEscaped(reading.text)) continue;
    addReading(readings, reading, unescapeBackslashes);
    addReading(readings, reading, unescapePercents);
  }
  return false;
};

const addReading = (readings: Reading[], reading: Reading, takeOut: Unescape): void => {
  const text = readings.length < MAX_READINGS ? takeOut(reading.text) : null;
  if (text === null || readings.some((known) => known.text === text)) return;
  readings.push({ text, locate: () => locateIn(reading, takeOut) });
};

// Only where something was found: writing down each escape takes as long again.
const locateIn = (reading: Reading, takeOut: Unescape): ((place: number) => number) => {
  const toOriginal = reading.locate();
  const ends: number[] = [];
  const oldEnds: number[] = [];
  takeOut(reading.text, (end, oldEnd) => {
    ends.push(end);
    oldEnds.push(oldEnd);
  });
  return (place) => {
    const last = countUpTo(ends, place) - 1;
    return toOriginal((oldEnds[last] ?? 0) + place - (ends[last] ?? 0));
  };
};

/** How many of these rising numbers are not above a limit. */
const countUpTo = (rising: readonly number[], limit: number): number => {
  let from = 0;
  let to = rising.length;
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((rising[middle] ?? 0) <= limit) from = middle + 1;
    else to = middle;
  }
  return from;
};

/**
 * Finds registered values in a text, however many escapes of JSON and URLs it is written with, and whole: what only begins
 * like one is any text, and is treated as any other. Otherwise a caller could learn a value character by character. A look
 * takes a nanosecond or less a character, however many forms there are, where one expression of all took up to ten, and can
 * be too large for V8.
 */
export class RegisteredFinder {
  readonly #forms: ReadonlyMap<string, number>;
  readonly #someStart: SomeStart;
  readonly #formsIn: (text: string) => FormAt;

  /** How each registered value may be written, and which value that is: one form at least, none under eight characters. */
  constructor(forms: ReadonlyMap<string, number>) {
    this.#forms = forms;
    this.#someStart = createQuickLook([...forms.keys()]);
    this.#formsIn = createFormIndex(forms.keys());
  }

  /** Whether the text holds one. */
  isIn(text: string): boolean {
    if (this.#contains(text)) return true;
    return isEscaped(text) && someReading(text, (reading) => reading.text !== text && this.#contains(reading.text));
  }

  /** Each place where one stands. */
  find(text: string): readonly Found[] {
    const found: Found[] = [];
    if (!this.isIn(text)) return found;
    someReading(text, (reading) => {
      const formAt = this.#formsIn(reading.text);
      let toOriginal: ReturnType<Reading['locate']> | null = null;
      return this.#someStart(reading.text, (start) => {
        const form = formAt(start);
        if (form === null) return false;
        toOriginal ??= reading.locate();
        const end = toOriginal(start + form.length);
        found.push({ start: toOriginal(start), end, instead: '[redacted]', secret: this.#forms.get(form) ?? null });
        return false;
      });
    });
    return found;
  }

  #contains(text: string): boolean {
    const formAt = this.#formsIn(text);
    return this.#someStart(text, (start) => formAt(start) !== null);
  }
}

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
    for (const piece of new Set(forms.map((form) => form.slice(offset, offset + PIECE)))) {
      const known = offsets.get(piece);
      if (known === undefined) offsets.set(piece, [offset]);
      else known.push(offset);
    }
  const mayStand = createPieceSlots(offsets);
  return (text, isEnough) => {
    const last = text.length - PIECE;
    for (let at = 0; at <= last; at += step) {
      const known = mayStand(text, at) ? offsets.get(text.slice(at, at + PIECE)) : undefined;
      if (known?.some((offset) => offset <= at && isEnough(at - offset))) return true;
    }
    return false;
  };
};

// Almost every look at another text ends there: with eight slots a piece it took more than twice as long.
const SLOTS_PER_PIECE = 32;
const MIN_SLOTS = 4096;
const MAX_SLOTS = 1_048_576;

/** Says whether one of these pieces may stand at a place of a text: in a nanosecond, where a look into a set takes thirty. */
const createPieceSlots = (pieces: ReadonlyMap<string, unknown>): ((text: string, at: number) => boolean) => {
  let size = MIN_SLOTS;
  while (size < pieces.size * SLOTS_PER_PIECE && size < MAX_SLOTS) size *= 2;
  const slots = new Uint8Array(size);
  const shift = Math.clz32(size - 1);
  for (const piece of pieces.keys()) slots[hashPiece(piece, 0) >>> shift] = 1;
  return (text, at) => slots[hashPiece(text, at) >>> shift] === 1;
};

// The upper bits of the product depend on all four characters (Knuth, The Art of Computer Programming 3, 6.4).
const hashPiece = (text: string, at: number): number =>
  Math.imul(
    text.charCodeAt(at) ^
      (text.charCodeAt(at + 1) << 8) ^
      (text.charCodeAt(at + 2) << 16) ^
      (text.charCodeAt(at + 3) << 24),
    0x9e_37_79_b1,
  );

type FormAt = (start: number) => string | null;

/** All forms alike in length and in how they begin, by the hash of all of it. `power` is of the hash, for that length. */
type Alike = { readonly length: number; readonly power: number; readonly byHash: Map<number, string[]> };

/** Forms are told apart by this many characters, by their length, by the hash of all of it, and last by comparing. */
const BEGINNING = 8;
const BASE = 0x01_00_01_93;

/**
 * Says which form stands at a place of a text, the longest where several do; null where none does. The time does not grow
 * with the length of forms that begin alike: a text full of beginnings of a form is looked through as fast as any other.
 */
const createFormIndex = (forms: Iterable<string>): ((text: string) => FormAt) => {
  const byBeginning = new Map<string, Alike[]>();
  for (const form of forms) addForm(byBeginning, form);
  for (const alike of byBeginning.values()) alike.sort((one, other) => other.length - one.length);
  return (text) => {
    // Most texts that are looked through hold no beginning of a form.
    let hashes: Int32Array | null = null;
    return (start) => {
      const alike = byBeginning.get(text.slice(start, start + BEGINNING));
      if (alike === undefined) return null;
      hashes ??= hashBeginnings(text);
      return findForm(alike, text, hashes, start);
    };
  };
};

const addForm = (byBeginning: Map<string, Alike[]>, form: string): void => {
  const beginning = form.slice(0, BEGINNING);
  const { length } = form;
  const alike = byBeginning.get(beginning) ?? [];
  byBeginning.set(beginning, alike);
  const hash = hashBeginnings(form)[length] ?? 0;
  const same = alike.find((one) => one.length === length);
  if (same === undefined) alike.push({ length, power: powerOf(length), byHash: new Map([[hash, [form]]]) });
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
const hashBeginnings = (text: string): Int32Array => {
  const hashes = new Int32Array(text.length + 1);
  let hash = 0;
  for (let place = 0; place < text.length; place += 1) {
    hash = (Math.imul(hash, BASE) + text.charCodeAt(place)) | 0;
    hashes[place + 1] = hash;
  }
  return hashes;
};

const powerOf = (length: number): number => {
  let power = 1;
  for (let place = 0; place < length; place += 1) power = Math.imul(power, BASE);
  return power;
};
