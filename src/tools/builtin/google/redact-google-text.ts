import { showText } from '../../http/show-url.ts';

const HIDDEN = '[redacted]';
// What is shorter stands in every text, and blanking it out wrecks them all.
export const LEAST_SECRET = 8;
// A JSON Web Token, whole or not (RFC 7519): each begins with `{"`. A sign-in's tells who asks for what.
const ASSERTION = String.raw`eyJ[\w-]{8,}(?:\.[\w-]*){0,4}`;

/** What Google says as a message may show it: without these secrets and without assertions, which go before it is cut. */
export const redactGoogleText = (text: string, secrets: readonly string[]): string => {
  const hidden = secrets
    .filter((secret) => secret.length >= LEAST_SECRET)
    .toSorted((one, other) => other.length - one.length)
    .map((secret) => secret.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
  return showText(text.replace(new RegExp([...hidden, ASSERTION].join('|'), 'g'), HIDDEN));
};
