import { LEAST_SECRET } from './redact-google-text.ts';

const HIDDEN = '[redacted]';

/**
 * Takes an access token out of all texts of a JSON value, in place: only what a service echoes holds one. No recursion,
 * for the value may be nested as deep as its sender likes.
 */
export const hideInJson = (json: unknown, token: string): void => {
  if (token.length < LEAST_SECRET) return;
  const rest: object[] = [];
  const look = (holder: object, key: PropertyKey, member: unknown): void => {
    if (typeof member === 'string' && member.includes(token))
      Reflect.set(holder, key, member.replaceAll(token, HIDDEN));
    if (typeof member === 'object' && member !== null) rest.push(member);
  };
  look({}, 'json', json);
  for (let holder = rest.pop(); holder !== undefined; holder = rest.pop()) {
    const at = holder;
    if (Array.isArray(at)) at.forEach((member, place) => void look(at, place, member));
    else for (const [key, member] of Object.entries(at)) look(at, key, member);
  }
};

/** The same of bytes, which stay as they are where the token is not in them. */
export const hideInBytes = (bytes: Uint8Array, token: string): Uint8Array => {
  const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (token.length < LEAST_SECRET || !whole.includes(token)) return bytes;
  // One byte is one character here, so that what is no text survives.
  return Buffer.from(whole.toString('latin1').replaceAll(token, HIDDEN), 'latin1');
};
