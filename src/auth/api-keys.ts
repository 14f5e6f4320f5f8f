import { hash, timingSafeEqual } from 'node:crypto';
import { watchFile } from '../files/watch-file.ts';
import type { ApiKey } from './api-key.ts';
import type { Authentication } from './caller.ts';
import { type KeyFile, type KeyFileReading, readKeyFile } from './key-file.ts';
import { loadApiKeys } from './load-api-keys.ts';

/** The keys that are known now. */
export type ApiKeys = {
  /** Answers at once. */
  readonly authenticate: (credential: string | undefined) => Authentication;
  /** Keys that are known, expired ones included. */
  readonly count: () => number;
  /** Follows the file no longer. */
  readonly close: () => void;
};

export type ApiKeysOptions = {
  /** Entries of API_KEYS. */
  readonly entries: readonly string[];
  /** API_KEYS_FILE as it was read, and to be followed. */
  readonly file: KeyFile | null;
  /** A change of the file was taken, or refused for the mistakes in it: the keys from before are then still right. */
  readonly onReload: (reload: Reload) => void;
  /** Unix milliseconds. */
  readonly time: () => number;
  /** Reads the file anew; left out: `readKeyFile`. */
  readonly read?: (path: string) => Promise<KeyFileReading>;
  /** Between two readings of the file. A change is taken at the second that shows it. */
  readonly pollMs?: number;
};

export type Reload =
  | { readonly result: 'taken'; readonly keys: number }
  | { readonly result: 'refused'; readonly mistakes: readonly string[] };

// A revoked key is refused a second later, and a file of a few kilobytes is read twice a second.
const POLL_MS = 500;

/** Loads the keys, and follows their file. Throws one sentence with every mistake where the keys are not right. */
export const createApiKeys = (options: ApiKeysOptions): ApiKeys => {
  const { entries, file, onReload, time, read = readKeyFile, pollMs = POLL_MS } = options;
  let keys = toKeysByHash(loadFirstKeys({ entries, file }));
  const onChange = (reading: KeyFileReading): void => {
    const loaded = reading.ok
      ? loadApiKeys({ entries, fileText: reading.text })
      : { keys: [], mistakes: [reading.problem] };
    const isRight = loaded.mistakes.length === 0;
    if (isRight) keys = toKeysByHash(loaded.keys);
    onReload(isRight ? { result: 'taken', keys: keys.size } : { result: 'refused', mistakes: loaded.mistakes });
  };
  const stop = file === null ? () => undefined : watchFile({ file, pollMs, onChange, read });
  return {
    authenticate: (credential) => findCaller(credential, keys, time),
    count: () => keys.size,
    close: stop,
  };
};

/** The keys of the start. Throws one sentence with the mistakes in them. */
export const loadFirstKeys = ({ entries, file }: Pick<ApiKeysOptions, 'entries' | 'file'>): readonly ApiKey[] => {
  const { keys, mistakes } = loadApiKeys({ entries, fileText: file?.text ?? null });
  const source = file === null ? 'API_KEYS' : `API_KEYS_FILE ${file.path}`;
  if (mistakes.length > 0) throw new Error(`${source}: ${mistakes.join('; ')}.`);
  return keys;
};

/** By the SHA-256 of what callers send: its 32 bytes as text. */
type KeysByHash = ReadonlyMap<string, ApiKey>;

const toKeysByHash = (keys: readonly ApiKey[]): KeysByHash =>
  new Map(keys.map((key) => [key.hash.toString('latin1'), key]));

/**
 * One lookup, however many keys there are. Its time tells nothing of use: it depends on the hash of what was sent, which the
 * sender cannot bring nearer to a hash that is stored without knowing the key. What was found is compared in constant
 * time. The hash is made also without a credential.
 */
const findCaller = (credential: string | undefined, keys: KeysByHash, time: () => number): Authentication => {
  const sent = hash('sha256', credential ?? '', 'buffer');
  const found = keys.get(sent.toString('latin1'));
  if (credential === undefined || credential === '') return { kind: 'refused', reason: 'missing' };
  if (found === undefined || !timingSafeEqual(found.hash, sent)) return { kind: 'refused', reason: 'unknown' };
  if (found.expiresAt !== null && found.expiresAt <= time()) return { kind: 'refused', reason: 'expired' };
  return { kind: 'known', caller: found.caller };
};
