import { type CryptoKey, createRemoteJWKSet, customFetch, errors, type JWTVerifyGetKey } from 'jose';

export type IssuerKeysOptions = {
  readonly url: URL;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
  readonly timeoutMs?: number;
  /** After this time the keys are asked for again, beside the requests. */
  readonly refreshMs?: number;
  /** How long the keys that were had last are believed while the issuer cannot be asked. */
  readonly maxAgeMs?: number;
  /** For how long a token of a key that is not in the set does not make it be asked for again. */
  readonly unknownKeyMs?: number;
  /** Between two questions, however the first ended. */
  readonly pauseMs?: number;
};

/** The public key a token was signed with. Rejects with a `JwksAwayError` where the set cannot be had. */
export type IssuerKeys = (...given: Parameters<JWTVerifyGetKey>) => Promise<CryptoKey>;

/** The keys of the issuer cannot be had: it does not answer, or what it answers is no key set. */
export class JwksAwayError extends Error {}

// A caller waits that long at most; an issuer that takes longer is as good as away.
const TIMEOUT_MS = 3000;
const REFRESH_MS = 5 * 60_000;
const MAX_AGE_MS = 60 * 60_000;
// A key that was rotated in is known after that time at the latest, and invented key ids cost a question each.
const UNKNOWN_KEY_MS = 10_000;
const PAUSE_MS = 1000;

/**
 * The key set (JWKS, RFC 7517) of an issuer, kept and refreshed. However many requests wait there is one question at a
 * time, and after one that failed the next ones are told so at once, for a second.
 */
export const createIssuerKeys = (options: IssuerKeysOptions): IssuerKeys => {
  const { url, now, refreshMs = REFRESH_MS, pauseMs = PAUSE_MS } = options;
  let restsUntil = Number.NEGATIVE_INFINITY;
  let refreshAt = Number.NEGATIVE_INFINITY;
  const rest = (): void => {
    restsUntil = now() + pauseMs;
  };
  const keys = createRemoteJWKSet(url, {
    timeoutDuration: options.timeoutMs ?? TIMEOUT_MS,
    cooldownDuration: options.unknownKeyMs ?? UNKNOWN_KEY_MS,
    cacheMaxAge: options.maxAgeMs ?? MAX_AGE_MS,
    [customFetch]: async (address, request) => {
      if (now() < restsUntil) throw new JwksAwayError('The issuer was asked a moment ago.');
      return fetch(address, request).finally(rest);
    },
  });
  const refresh = (): void => {
    if (!keys.fresh || now() < refreshAt) return;
    refreshAt = now() + refreshMs;
    // Nobody waits for it: what is known holds until it is too old.
    void keys.reload().then(undefined, () => undefined);
  };
  return (header, token) => {
    refresh();
    return keys(header, token).then(undefined, (error: unknown) => {
      throw isAboutToken(error) ? error : new JwksAwayError('The keys of the issuer cannot be had.', { cause: error });
    });
  };
};

// Which key a token asks for is its own business; everything else is the issuer's.
const isAboutToken = (error: unknown): boolean =>
  error instanceof errors.JWKSNoMatchingKey ||
  error instanceof errors.JWKSMultipleMatchingKeys ||
  error instanceof errors.JOSENotSupported;
