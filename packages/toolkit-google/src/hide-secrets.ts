import { showText } from '@recourse/toolkit-kit/http';

type Reading = {
  readonly text: string;
  /** Where a place between two characters of the reading is in the text that was read. */
  readonly toSource: (at: number) => number;
};

// ASCII in URLs (RFC 3986, section 2.1), in JSON (RFC 8259, section 7) and in HTML. Other signs may stay: no secret has any.
const ESCAPE =
  /%([0-7][0-9a-f])|\\(?:(?:u00|x)([0-7][0-9a-f])|([^ux]))|&(?:#x0{0,4}([0-7]?[0-9a-f])|#0{0,4}([0-9]{1,3})|(amp|lt|gt|quot|apos));/gi;

const AFTER_BACKSLASH: ReadonlyMap<string, string> = new Map([
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
]);
const NAMED: ReadonlyMap<string, string> = new Map([
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
  ['apos', "'"],
]);

/** Takes one layer of escapes away, of all kinds at once; undefined where there is none. */
const readEscapes = (text: string): Reading | undefined => {
  const ends: number[] = [];
  const shifts: number[] = [];
  let shift = 0;
  const read = text.replace(ESCAPE, (found, ofUrl, ofJson, plain, hex, decimal, name, at: number) => {
    ends.push(at - shift + 1);
    shift += found.length - 1;
    shifts.push(shift);
    if (plain !== undefined) return AFTER_BACKSLASH.get(plain) ?? plain;
    if (name !== undefined) return NAMED.get(name.toLowerCase()) ?? found;
    return String.fromCharCode(decimal === undefined ? Number.parseInt(ofUrl ?? ofJson ?? hex, 16) : Number(decimal));
  });
  if (ends.length === 0) return undefined;
  return { text: read, toSource: (at) => at + (shifts[countUpTo(ends, at) - 1] ?? 0) };
};

const countUpTo = (numbers: readonly number[], most: number): number => {
  let [from, to] = [0, numbers.length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    if ((numbers[middle] ?? 0) <= most) from = middle + 1;
    else to = middle;
  }
  return from;
};

/** A part of a text: from its first character to the one behind its last. */
type Place = { readonly from: number; readonly to: number };

/** All places of one text in another; what overlaps or touches is one place. */
const findPlaces = (text: string, wanted: string): readonly Place[] => {
  const places: { from: number; to: number }[] = [];
  for (let from = text.indexOf(wanted); from !== -1; from = text.indexOf(wanted, from + 1))
    addPlace(places, { from, to: from + wanted.length });
  return places;
};

const addPlace = (places: { from: number; to: number }[], { from, to }: Place): void => {
  const last = places.at(-1);
  if (last !== undefined && from <= last.to) last.to = Math.max(last.to, to);
  else places.push({ from, to });
};

/** All places of several texts, in their order, those that overlap as one. */
const mergePlaces = (places: readonly Place[]): readonly Place[] => {
  const merged: { from: number; to: number }[] = [];
  for (const place of places.toSorted((one, other) => one.from - other.from)) addPlace(merged, place);
  return merged;
};

const HIDDEN = '[redacted]';
// What is shorter stands in every text, and blanking it out wrecks them all.
const LEAST_SECRET = 8;
// JSON in JSON with addresses in it has three layers.
const MOST_LAYERS = 4;
// How far outside of a part its secrets are looked for, in their own lengths: with each sign escaped for a URL it is three.
const LENGTHS_AROUND = 3;
const MOST_AROUND = 8192;

/**
 * Takes secrets out of a text, or of a part of it: from `from` to before `to`, also of those that reach into it from
 * outside. What a part costs is bounded by its length, however long the text is.
 */
export type HideSecrets = (text: string, part?: Place) => string;

/** What hides these secrets: as they are, in Base64, and with escapes of URLs, JSON or HTML, up to four over each other. */
export const createSecretHider = (secrets: readonly string[]): HideSecrets => {
  const known = secrets.filter((secret) => secret.length >= LEAST_SECRET);
  const forms = [...new Set(known.flatMap((one) => [one, ...toBase64(one)]))];
  const around = Math.min(MOST_AROUND, LENGTHS_AROUND * Math.max(0, ...forms.map(({ length }) => length)));
  const find = (text: string, layers: number): readonly Place[] => {
    const found = forms.flatMap((form) => findPlaces(text, form));
    const reading = layers === 0 ? undefined : readEscapes(text);
    if (reading === undefined) return found;
    const { toSource } = reading;
    const escaped = find(reading.text, layers - 1).map(({ from, to }) => ({ from: toSource(from), to: toSource(to) }));
    return [...found, ...escaped];
  };
  return (text, { from, to } = { from: 0, to: text.length }) => {
    const part = text.slice(from, to);
    if (forms.length === 0) return part;
    const begin = Math.max(0, from - around);
    const places = mergePlaces(find(text.slice(begin, to + around), MOST_LAYERS));
    return withoutPlaces(
      part,
      places.map((place) => ({ from: place.from + begin - from, to: place.to + begin - from })),
    );
  };
};

/** The text with a mark for each place in it; places may reach out of it. */
const withoutPlaces = (text: string, places: readonly Place[]): string => {
  const pieces: string[] = [];
  let at = 0;
  for (const { from, to } of places) {
    if (to <= 0 || from >= text.length) continue;
    pieces.push(text.slice(at, Math.max(at, from)), HIDDEN);
    at = to;
  }
  return [...pieces, text.slice(at)].join('');
};

/** How it stands in the Base64 of any text around it: wherever it begins in one of three bytes. In both alphabets. */
const toBase64 = (secret: string): readonly string[] => {
  const bytes = Buffer.from(secret);
  return [0, 1, 2].flatMap((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    // Signs that hold bits of what stands before or behind it are not its own.
    const own = text.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
    return [own, own.replaceAll('+', '-').replaceAll('/', '_')];
  });
};

// A JSON Web Token, whole or not (RFC 7519): each begins with `{"`. A sign-in's tells who asks for what.
const ASSERTION = /eyJ[\w-]{8,}(?:\.[\w-]*){0,4}/g;

// An error answer has no more; what the library says of itself may quote more.
const MOST_READ = 65_536;

/** What Google says as a message may show it: without these secrets and without assertions, which go before it is cut. */
export const redactGoogleText = (text: string, secrets: readonly string[]): string =>
  showText(createSecretHider(secrets)(text, { from: 0, to: MOST_READ }).replace(ASSERTION, HIDDEN));
