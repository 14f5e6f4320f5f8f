import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';

/** Where a text is kept. What was sealed for one place opens in no other. */
export type SealPlace = {
  /** The kind of its record. */
  readonly kind: string;
  /** The key of its record: it begins with the tenant. */
  readonly key: string;
  /** What this record has and no earlier or later one of its key. */
  readonly life: string;
  /** Which text of the record. */
  readonly part: string;
};

/** Why a stored text must not be acted on. `key_missing`: this process lacks the key that it names. `damaged`: it cannot be read. */
export const UNOPENED = ['key_missing', 'not_sealed', 'not_authentic', 'damaged'] as const;
export type UnopenedReason = (typeof UNOPENED)[number];

export type Opened = { readonly text: string } | { readonly problem: Exclude<UnopenedReason, 'damaged'> };

/** Seals, and who is told of what is found and must not be acted on. */
export type Sealing = {
  readonly seals: Seals;
  readonly onUnopened: (kind: 'call' | 'message', why: UnopenedReason) => void;
};

export type Seals = ReturnType<typeof createSeals>;

/** A key of the store: 32 random bytes. */
export type StoreKey = { readonly id: string; readonly secret: Buffer };

const KEY_BYTES = 32;

/**
 * Seals what a process acts on that finds it in the store: a writer to the store alone can neither read, make nor move it. The first
 * of these keys seals, and any of them opens. `optional`: what is not sealed is opened, too, for some processes have no keys yet.
 */
export const createSeals = (keys: readonly StoreKey[], rule: 'optional' | 'required') => {
  const [first] = keys;
  const own = first === undefined ? null : { id: first.id, secret: derive(first.secret, 'seal') };
  const sealing = new Map(keys.map(({ id, secret }) => [id, derive(secret, 'seal')]));
  // In an order that does not change when another key becomes the first.
  const naming = keys.toSorted(byId).map(({ secret }) => derive(secret, 'look-up'));
  const mayBePlain = own === null || rule === 'optional';
  return {
    /** Whether there is a key. Without one texts are kept as they are. */
    isSealing: own !== null,
    /** Whether a text that is not sealed opens. */
    mayBePlain,
    seal: (place: SealPlace, text: string): string =>
      own === null ? text : `${SEALED}${own.id}:${encrypt(own.secret, place, text)}`,
    /** Pure: a decision on a record may ask it. */
    open: (place: SealPlace, text: string): Opened => {
      if (!text.startsWith(SEALED)) return mayBePlain ? { text } : { problem: 'not_sealed' };
      const end = text.indexOf(':', SEALED.length);
      const secret = sealing.get(text.slice(SEALED.length, end));
      if (secret === undefined) return { problem: 'key_missing' };
      return decrypt(secret, place, Buffer.from(text.slice(end + 1), 'base64url'));
    },
    /**
     * The names under which the record of a key that a caller chose is looked up, in the order in which they are reserved: under each
     * key one, so that processes of which one has a key more still find the same record.
     */
    toNames: (recordKey: string): readonly [first: string, ...others: string[]] => {
      const [name = recordKey, ...others] = naming.map((secret) => toName(secret, recordKey));
      return mayBePlain && naming.length > 0 ? [recordKey, name, ...others] : [name, ...others];
    },
  };
};

/** Whether a text is sealed: no JSON begins so. */
export const isSealed = (text: string): boolean => text.startsWith(SEALED);

const SEALED = 'sealed:1:';

const byId = (one: StoreKey, other: StoreKey): number => (one.id < other.id ? -1 : 1);

const derive = (secret: Buffer, purpose: 'seal' | 'look-up'): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, '', `recourse store 1 ${purpose}`, KEY_BYTES));

const toName = (secret: Buffer, recordKey: string): string => {
  const tenant = recordKey.slice(0, recordKey.lastIndexOf(':') + 1);
  return tenant + createHmac('sha256', secret).update(recordKey).digest('hex');
};

// AES-256-GCM with a key for each text and a nonce of 96 bits, both of 192 random bits, as XAES-256-GCM has them: a store key seals as
// many texts as there are, where random nonces under one key end at 2^32.
const CIPHER = 'aes-256-gcm';
const HALF_BYTES = 12;
const TAG_BYTES = 16;
const TAG = { authTagLength: TAG_BYTES } as const;

const toCipherParts = (secret: Buffer, random: Buffer) => {
  const key = createHmac('sha256', secret).update(random.subarray(0, HALF_BYTES)).digest();
  return [CIPHER, key, random.subarray(HALF_BYTES, 2 * HALF_BYTES), TAG] as const;
};

const toAssociated = ({ kind, key, life, part }: SealPlace): Buffer =>
  Buffer.from(JSON.stringify([kind, key, life, part]));

const encrypt = (secret: Buffer, place: SealPlace, text: string): string => {
  const random = randomBytes(2 * HALF_BYTES);
  const cipher = createCipheriv(...toCipherParts(secret, random)).setAAD(toAssociated(place));
  const parts = [random, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()];
  return Buffer.concat(parts).toString('base64url');
};

const decrypt = (secret: Buffer, place: SealPlace, sealed: Buffer): Opened => {
  if (sealed.length < 2 * HALF_BYTES + TAG_BYTES) return NOT_AUTHENTIC;
  const decipher = createDecipheriv(...toCipherParts(secret, sealed)).setAAD(toAssociated(place));
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
  const start = decipher.update(sealed.subarray(2 * HALF_BYTES, -TAG_BYTES));
  try {
    return { text: Buffer.concat([start, decipher.final()]).toString() };
  } catch (_tagDoesNotFit) {
    return NOT_AUTHENTIC;
  }
};

const NOT_AUTHENTIC: Opened = { problem: 'not_authentic' };

/** Texts are kept as they are. Last, for it calls what stands above. */
export const NO_SEALING: Sealing = { seals: createSeals([], 'optional'), onUnopened: () => undefined };
