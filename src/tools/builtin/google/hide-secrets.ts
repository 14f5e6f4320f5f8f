import { readEscapes } from './escaped-text.ts';
import { createTextFinder, mergePlaces, type Place } from './find-text.ts';

export const HIDDEN = '[redacted]';
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
  const forms = secrets.filter((secret) => secret.length >= LEAST_SECRET).flatMap((one) => [one, ...toBase64(one)]);
  const finders = [...new Set(forms)].map(createTextFinder);
  const around = Math.min(MOST_AROUND, LENGTHS_AROUND * Math.max(0, ...forms.map(({ length }) => length)));
  const find = (text: string, layers: number): readonly Place[] => {
    const found = finders.flatMap((findIn) => findIn(text));
    const reading = layers === 0 ? undefined : readEscapes(text);
    if (reading === undefined) return found;
    const { toSource } = reading;
    const escaped = find(reading.text, layers - 1).map(({ from, to }) => ({ from: toSource(from), to: toSource(to) }));
    return [...found, ...escaped];
  };
  return (text, { from, to } = { from: 0, to: text.length }) => {
    const part = text.slice(from, to);
    if (finders.length === 0) return part;
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
