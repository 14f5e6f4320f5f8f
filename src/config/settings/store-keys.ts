const KEY_BYTES = 32;
const ENTRY = /^([A-Za-z0-9_-]{1,32}):([A-Za-z0-9+/_-]{43}=?)$/;
const MAKE_ONE = 'make one with recourse key --store';

/** The keys of STORE_KEYS, or what is wrong with it: a sentence without its value. */
export const parseStoreKeys = (
  entries: readonly string[],
): readonly { readonly id: string; readonly secret: Buffer }[] | { readonly mistake: string } => {
  const keys = new Map<string, Buffer>();
  for (const [place, entry] of entries.entries()) {
    const [, id, base64 = ''] = ENTRY.exec(entry) ?? [];
    const secret = Buffer.from(base64, 'base64');
    if (id === undefined || secret.length !== KEY_BYTES)
      return { mistake: `entry ${place + 1} must be id:base64 with 32 random bytes in base64; ${MAKE_ONE}` };
    if (keys.has(id)) return { mistake: `entry ${place + 1} has the id of an earlier entry; ${MAKE_ONE}` };
    keys.set(id, secret);
  }
  return Array.from(keys, ([id, secret]) => ({ id, secret }));
};
