import { parseStoreKeys } from '#src/config/settings/store-keys.ts';
import { createSeals, type Sealing, type UnopenedReason } from '#src/store/seals.ts';

/** An entry of STORE_KEYS with a secret that follows from the id. */
export const toKeyEntry = (id: string): string => `${id}:${Buffer.alloc(32, `secret of ${id}`).toString('base64')}`;

/** The seals of a process with these keys, and what it has met and not acted on. */
export const createSealing = (
  ids: readonly string[],
  rule: Parameters<typeof createSeals>[1] = 'required',
): Sealing & { readonly unopened: UnopenedReason[] } => {
  const keys = parseStoreKeys(ids.map(toKeyEntry));
  if ('mistake' in keys) throw new Error(keys.mistake);
  const unopened: UnopenedReason[] = [];
  return { seals: createSeals(keys, rule), onUnopened: (_kind, why) => void unopened.push(why), unopened };
};

/** The steps in which `k1` is replaced by `k2`; processes of one step run beside those of the next. */
export const ROTATION = [['k1'], ['k1', 'k2'], ['k2', 'k1'], ['k2']] as const;
