import type { HideSecrets } from './hide-secrets.ts';

/**
 * Takes access tokens out of all texts of a JSON value, in place: only what a service echoes holds one. No recursion,
 * for the value may be nested as deep as its sender likes.
 */
export const hideInJson = (json: unknown, hide: HideSecrets): void => {
  const rest: object[] = [];
  const look = (holder: object, key: PropertyKey, member: unknown): void => {
    if (typeof member === 'string') {
      const hidden = hide(member);
      if (hidden !== member) Reflect.set(holder, key, hidden);
    }
    if (typeof member === 'object' && member !== null) rest.push(member);
  };
  look({}, 'json', json);
  for (let holder = rest.pop(); holder !== undefined; holder = rest.pop()) {
    const at = holder;
    if (Array.isArray(at)) at.forEach((member, place) => void look(at, place, member));
    else for (const [key, member] of Object.entries(at)) look(at, key, member);
  }
};

/** The same of bytes, which stay as they are where no token is in them. */
export const hideInBytes = (bytes: Uint8Array, hide: HideSecrets): Uint8Array => {
  // One byte is one character here, so that what is no text survives.
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
  const hidden = hide(text);
  return hidden === text ? bytes : Buffer.from(hidden, 'latin1');
};
