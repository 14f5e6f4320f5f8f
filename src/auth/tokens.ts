import { hash } from 'node:crypto';
import {
  type CryptoKey,
  createRemoteJWKSet,
  customFetch,
  errors,
  type JWTPayload,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
  jwtVerify,
} from 'jose';
import {
  ALL_TOOLS,
  type AllowedTools,
  type Authentication,
  type Caller,
  isTenant,
  type Operation,
  toAllowedTools,
} from './callers.ts';

export type TokenRules = {
  readonly keysOf: IssuerKeys;
  /** What `iss` must be; null: anything. */
  readonly issuer: string | null;
  /** What `aud` must be or hold; null: anything. */
  readonly audience: string | null;
  /** The claim that names the tenant. */
  readonly tenantClaim: string;
};

/** Checks a token. Never rejects. */
export type AuthenticateToken = (token: string) => Promise<Authentication>;

// Asymmetric ones alone: with HS256 anybody could sign with the issuer's public key, and `none` needs no key at all.
const ALGORITHMS = 'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519'.split(' ');
// Clocks of two machines that are kept right differ by less.
const CLOCK_TOLERANCE_S = 10;

/** Accepts JSON Web Tokens that the issuer signed, of which `exp` and `sub` are required. */
export const createTokenAuthentication = ({ keysOf, issuer, audience, tenantClaim }: TokenRules): AuthenticateToken => {
  const rules: JWTVerifyOptions = {
    algorithms: ALGORITHMS,
    clockTolerance: CLOCK_TOLERANCE_S,
    requiredClaims: ['exp', 'sub'],
    ...(issuer === null ? {} : { issuer }),
    ...(audience === null ? {} : { audience }),
  };
  const findCaller = ({ payload }: { readonly payload: JWTPayload }): Authentication => {
    const caller = readTokenCaller(payload, tenantClaim);
    return caller === null ? { kind: 'refused', reason: 'invalid_token' } : { kind: 'known', caller };
  };
  return (token) => jwtVerify(token, keysOf, rules).then(findCaller, explainRefusal);
};

const explainRefusal = (error: unknown): Authentication => {
  if (error instanceof JwksAwayError) return { kind: 'unavailable' };
  return { kind: 'refused', reason: error instanceof errors.JWTExpired ? 'expired' : 'invalid_token' };
};

const SCOPES: Readonly<Record<Operation, string>> = {
  call: 'tools:call',
  read: 'sessions:read',
  reset: 'sessions:reset',
  operate: 'calls:operate',
  approve: 'calls:approve',
};

const MAX_NAME_LENGTH = 64;

/**
 * The caller that a token speaks for: its tenant from one claim, its name from `sub` (RFC 7519), what it may do from
 * `scope` (RFC 8693) or `scp`. Null where the tenant or the subject is none.
 */
const readTokenCaller = (claims: JWTPayload, tenantClaim: string): Caller | null => {
  const { [tenantClaim]: tenant, sub: subject, iss: issuer, exp } = claims;
  if (typeof tenant !== 'string' || !isTenant(tenant) || typeof subject !== 'string' || subject === '') return null;
  const scopes = [claims['scope'], claims['scp']].flatMap(readScopes);
  // Hashed: a subject may be an address of mail, and need not be where requests are counted, nor in a tool's table.
  const who = hash('sha256', JSON.stringify([issuer ?? null, tenant, subject]));
  return {
    tenant,
    key: subject.slice(0, MAX_NAME_LENGTH).toWellFormed(),
    id: who.slice(32),
    rateKey: `token:${who.slice(0, 32)}`,
    rate: null,
    ...findTools(scopes),
    may: (operation) => scopes.includes(SCOPES[operation]),
    ...(typeof exp === 'number' ? { validUntil: (exp + CLOCK_TOLERANCE_S) * 1000 } : {}),
  };
};

const readScopes = (claim: unknown): readonly string[] => {
  if (typeof claim === 'string') return claim.split(' ').filter((scope) => scope !== '');
  return Array.isArray(claim) ? claim.filter((scope) => typeof scope === 'string') : [];
};

const TOOL = 'tool:';

// A scope that names a tool wrongly still narrows: it must not turn into a leave for all of them.
const findTools = (scopes: readonly string[]): AllowedTools => {
  const named = scopes.filter((scope) => scope.startsWith(TOOL)).map((scope) => scope.slice(TOOL.length));
  return named.length === 0 ? ALL_TOOLS : toAllowedTools(named);
};

export type IssuerKeysOptions = Partial<typeof TIMES> & {
  readonly url: URL;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
};

// All in milliseconds.
const TIMES = {
  /** A caller waits that long at most; an issuer that takes longer is as good as away. */
  timeoutMs: 3000,
  /** After this time the keys are requested again, beside the requests. */
  refreshMs: 5 * 60_000,
  /** How long the keys that were fetched last are believed while the issuer is away. */
  maxAgeMs: 60 * 60_000,
  /** A key that was rotated in is known after that time at the latest, and invented key ids cost a request each. */
  unknownKeyMs: 10_000,
  /** Between two requests, however the first ended. */
  pauseMs: 1000,
};

/** The public key a token was signed with. Rejects with a `JwksAwayError` where the set cannot be had. */
type IssuerKeys = (...given: Parameters<JWTVerifyGetKey>) => Promise<CryptoKey>;

/** The keys of the issuer cannot be had: it does not answer, or what it answers is no key set. */
class JwksAwayError extends Error {}

/**
 * The key set (JWKS, RFC 7517) of an issuer, kept and refreshed. However many requests wait there is one question at a
 * time, and after one that failed the next ones are told so at once, for a second.
 */
export const createIssuerKeys = (options: IssuerKeysOptions): IssuerKeys => {
  const { url, now, timeoutMs, refreshMs, maxAgeMs, unknownKeyMs, pauseMs } = { ...TIMES, ...options };
  let restsUntil = Number.NEGATIVE_INFINITY;
  let refreshAt = Number.NEGATIVE_INFINITY;
  const rest = (): void => {
    restsUntil = now() + pauseMs;
  };
  const keys = createRemoteJWKSet(url, {
    timeoutDuration: timeoutMs,
    cooldownDuration: unknownKeyMs,
    cacheMaxAge: maxAgeMs,
    [customFetch]: async (address, request) => {
      if (now() < restsUntil)
        throw new JwksAwayError('The keys of the issuer were requested moments ago; not requesting them again yet.');
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
      throw isAboutToken(error)
        ? error
        : new JwksAwayError('The keys of the issuer cannot be fetched.', { cause: error });
    });
  };
};

// Which key a token asks for is its own business; everything else is the issuer's.
const isAboutToken = (error: unknown): boolean =>
  error instanceof errors.JWKSNoMatchingKey ||
  error instanceof errors.JWKSMultipleMatchingKeys ||
  error instanceof errors.JOSENotSupported;
