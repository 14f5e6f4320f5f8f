import type { Rate } from './rate.ts';

/** What a caller may do: `call` tools and look at them, `read` its tenant's sessions, `reset` their budgets or end them. */
export const OPERATIONS = ['call', 'read', 'reset'] as const;
export type Operation = (typeof OPERATIONS)[number];

/** Whoever calls, and what it may do. */
export type Caller = {
  readonly tenant: string;
  /** The name of its key, or the subject of its token: for logs, never a secret. null while anonymous. */
  readonly key: string | null;
  /** Who it is, for tools: opaque, the same in every replica and after a restart; null while anonymous. */
  readonly id: string | null;
  /** Under which its requests are counted: opaque, the same in every replica. null: by its address. */
  readonly rateKey: string | null;
  /** null: the service's own rate, if there is one. */
  readonly rate: Rate | null;
  /** `all`: also every tool to come. */
  readonly tools: 'all' | 'some';
  readonly mayUse: (tool: string) => boolean;
  readonly may: (operation: Operation) => boolean;
};

/** Why nobody was found behind a credential. The caller is told one thing whichever it is; operators see which. */
export type Refusal = 'missing' | 'unknown' | 'expired' | 'invalid_token';

/** `unavailable`: who it is cannot be told now, because the keys of the issuer cannot be had. */
export type Authentication =
  | { readonly kind: 'known'; readonly caller: Caller }
  | { readonly kind: 'refused'; readonly reason: Refusal }
  | { readonly kind: 'unavailable' };

/** Finds the caller of a request by the credential it sent. Answers at once for API keys; never rejects. */
export type Authenticate = (credential: string | undefined) => Authentication | Promise<Authentication>;

export const ANONYMOUS: Caller = {
  tenant: 'anonymous',
  key: null,
  id: null,
  rateKey: null,
  rate: null,
  tools: 'all',
  mayUse: () => true,
  may: () => true,
};
