import type { ApiKeys } from './api-keys.ts';
import { ANONYMOUS, type Authenticate } from './caller.ts';
import type { AuthenticateToken } from './token-authentication.ts';

/** The ways in that are set up; null: not this one. */
export type WaysIn = {
  readonly apiKeys: Pick<ApiKeys, 'authenticate'> | null;
  readonly tokens: AuthenticateToken | null;
};

/** Whether a credential has the form of a JSON Web Token in compact serialisation (RFC 7519, section 3). */
export const isTokenShaped = (credential: string): boolean => /^ey[\w-]*\.[\w-]*\.[\w-]*$/.test(credential);

/**
 * Finds callers by API keys first, then by tokens. Anonymous is everybody where no way in is set up, and nobody where
 * one is, also while there is no key in it.
 */
export const createAuthenticate = ({ apiKeys, tokens }: WaysIn): Authenticate => {
  if (apiKeys === null && tokens === null) return () => ({ kind: 'known', caller: ANONYMOUS });
  return (credential) => {
    if (credential === undefined || credential === '') return { kind: 'refused', reason: 'missing' };
    const found = apiKeys?.authenticate(credential) ?? { kind: 'refused', reason: 'unknown' };
    const isUnknown = found.kind === 'refused' && found.reason === 'unknown';
    return isUnknown && tokens !== null && isTokenShaped(credential) ? tokens(credential) : found;
  };
};
