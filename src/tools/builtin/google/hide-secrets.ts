import { createEscapeReader } from './escaped-text.ts';

export const HIDDEN = '[redacted]';
// What is shorter stands in every text, and blanking it out wrecks them all.
const LEAST_SECRET = 8;

/** Takes secrets out of a text; gives the same text where there are none in it. */
export type HideSecrets = (text: string) => string;

/**
 * What hides these secrets: as they are, in Base64, and with escapes of URLs, JSON, HTML or mail, whichever of their
 * signs these are written for. In a word that holds an escaped one the other escapes of such signs are gone, too.
 */
export const createSecretHider = (secrets: readonly string[]): HideSecrets => {
  const forms = secrets
    .filter((secret) => secret.length >= LEAST_SECRET)
    .flatMap((secret) => [secret, ...toBase64(secret)])
    // One may be a part of another.
    .toSorted((one, other) => other.length - one.length);
  const findReading = createEscapeReader(forms.join(''));
  const isIn = (text: string): boolean => forms.some((form) => text.includes(form));
  const hide: HideSecrets = (text) => forms.reduce((rest, form) => rest.replaceAll(form, HIDDEN), text);
  const hideInWord: HideSecrets = (word) => {
    const reading = findReading(word, isIn);
    // Another may be escaped in another way.
    return reading === undefined ? word : hideInWord(hide(reading));
  };
  return (text) => {
    if (forms.length === 0 || text.length < LEAST_SECRET) return text;
    const rest = hide(text);
    if (findReading(rest, isIn) === undefined) return rest;
    // Word by word, so that all other words stay as they are. A private key is more than one.
    return hideInWord(rest.replace(WORD, hideInWord));
  };
};

const WORD = /\S+/g;

/** How it stands in the Base64 of any text around it: wherever it begins in one of three bytes. In both alphabets. */
const toBase64 = (secret: string): readonly string[] => {
  const bytes = Buffer.from(secret);
  const forms = [0, 1, 2].flatMap((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    // Signs that hold bits of what stands before or behind it are not its own.
    const own = text.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
    return [own, own.replaceAll('+', '-').replaceAll('/', '_')];
  });
  return [...new Set(forms)];
};
