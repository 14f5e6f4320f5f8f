import { hash } from 'node:crypto';
import type { Caller, Operation } from './caller.ts';
import { isTenant } from './tenant.ts';
import { ALL_TOOLS, type AllowedTools, toAllowedTools } from './tool-patterns.ts';

/** The claims of a token whose signature, issuer, audience and times have been checked. */
export type Claims = Readonly<Record<string, unknown>>;

const SCOPES: Readonly<Record<Operation, string>> = {
  call: 'tools:call',
  read: 'sessions:read',
  reset: 'sessions:reset',
};

const MAX_NAME_LENGTH = 64;

/**
 * The caller that a token speaks for: its tenant from one claim, its name from `sub` (RFC 7519), what it may do from
 * `scope` (RFC 8693) or `scp`. Null where the tenant or the subject is none.
 */
export const toTokenCaller = (claims: Claims, tenantClaim: string): Caller | null => {
  const { [tenantClaim]: tenant, sub: subject, iss: issuer } = claims;
  if (typeof tenant !== 'string' || !isTenant(tenant) || typeof subject !== 'string' || subject === '') return null;
  const scopes = [...toScopes(claims['scope']), ...toScopes(claims['scp'])];
  // Hashed: a subject may be an address of mail, and need not be where requests are counted, nor in a tool's table.
  const who = hash('sha256', JSON.stringify([issuer ?? null, tenant, subject]));
  return {
    tenant,
    key: subject.slice(0, MAX_NAME_LENGTH).toWellFormed(),
    id: who.slice(32),
    rateKey: `token:${who.slice(0, 32)}`,
    rate: null,
    ...toTools(scopes),
    may: (operation) => scopes.includes(SCOPES[operation]),
  };
};

const toScopes = (claim: unknown): readonly string[] => {
  if (typeof claim === 'string') return claim.split(' ').filter((scope) => scope !== '');
  return Array.isArray(claim) ? claim.filter((scope) => typeof scope === 'string') : [];
};

const TOOL = 'tool:';

// A scope that names a tool wrongly still narrows: it must not turn into a leave for all of them.
const toTools = (scopes: readonly string[]): AllowedTools => {
  const named = scopes.filter((scope) => scope.startsWith(TOOL)).map((scope) => scope.slice(TOOL.length));
  return named.length === 0 ? ALL_TOOLS : toAllowedTools(named);
};
