import { errors, type JWTPayload, type JWTVerifyOptions, jwtVerify } from 'jose';
import type { Authentication } from './caller.ts';
import { type IssuerKeys, JwksAwayError } from './issuer-keys.ts';
import { toTokenCaller } from './token-caller.ts';

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
const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];
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
  const toKnown = ({ payload }: { readonly payload: JWTPayload }): Authentication => {
    const caller = toTokenCaller(payload, tenantClaim);
    return caller === null ? { kind: 'refused', reason: 'invalid_token' } : { kind: 'known', caller };
  };
  return (token) => jwtVerify(token, keysOf, rules).then(toKnown, toRefusal);
};

const toRefusal = (error: unknown): Authentication => {
  if (error instanceof JwksAwayError) return { kind: 'unavailable' };
  return { kind: 'refused', reason: error instanceof errors.JWTExpired ? 'expired' : 'invalid_token' };
};
