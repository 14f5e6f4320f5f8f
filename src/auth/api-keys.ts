import { createHash, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** Whoever calls: its tenant, and the tools it may use. */
export type Caller = {
  readonly tenant: string;
  readonly key: string | null;
  readonly mayUse: (tool: string) => boolean;
};

/** Finds the caller of a request by the key it sent; null for a missing, unknown or wrong key alike. */
export type Authenticate = (key: string | undefined) => Caller | null;

export const ANONYMOUS: Caller = { tenant: 'anonymous', key: null, mayUse: () => true };

const LINE = /^[a-z0-9][a-z0-9_-]{0,63}=[0-9a-f]{64}$/;

/** The `tenant=sha256` pairs of a file. Throws one sentence that names the line when there is a mistake. */
export const loadApiKeyFile = (path: string): readonly string[] => {
  const lines = readFileSync(path, 'utf8')
    .split('\n')
    .map((line) => line.trim());
  return lines.flatMap((line, position) => {
    if (line === '' || line.startsWith('#')) return [];
    if (!LINE.test(line)) throw new Error(`API_KEYS_FILE ${path}, line ${position + 1}: expected tenant=sha256.`);
    return [line];
  });
};

/**
 * Accepts the keys whose SHA-256 is listed as `tenant=hex`; without any, everybody is anonymous. Every key is compared
 * with every hash in constant time, so that the answer tells nothing about how near a guess was.
 */
export const createAuthenticate = (pairs: readonly string[]): Authenticate => {
  if (pairs.length === 0) return () => ANONYMOUS;
  const known = pairs.map((pair) => {
    const [tenant = '', hex = ''] = pair.split('=');
    return { caller: { tenant, key: null, mayUse: () => true } satisfies Caller, hash: Buffer.from(hex, 'hex') };
  });
  return (key) => {
    const hash = createHash('sha256')
      .update(key ?? '')
      .digest();
    const matches = known.filter((one) => timingSafeEqual(one.hash, hash));
    return key === undefined ? null : (matches[0]?.caller ?? null);
  };
};
