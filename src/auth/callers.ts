import { createToolFilter } from '../contract/tool-names.ts';

/** What a key may do whose `may=` is left out: what the programs that hold keys need. */
export const DEFAULT_OPERATIONS = ['call', 'read', 'reset'] as const;
/**
 * What a caller may do: `call` tools and look at them, `read` its tenant's sessions, `reset` their budgets or end them;
 * `operate`: decide what only a person can, such as how a write ended; `approve`: say that a call may run. These two are never implied: an
 * agent must not settle, or approve, its own.
 */
export const OPERATIONS = [...DEFAULT_OPERATIONS, 'operate', 'approve'] as const;
export type Operation = (typeof OPERATIONS)[number];

/** How many requests a caller may send in a window of time. */
export type Rate = { readonly requests: number; readonly windowMs: number };

/** Whoever calls, and what it may do. */
export type Caller = {
  readonly tenant: string;
  /** The name of its key, or the subject of its token: for logs, never a secret. null while anonymous. */
  readonly key: string | null;
  /** SHA-256 of its API key, 64 hex digits; left out: it came without one. */
  readonly keyHash?: string;
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
  /** Unix milliseconds from which its key or token is refused; left out: never. */
  readonly validUntil?: number;
};

/**
 * Who is behind a credential, or why nobody was found: the caller is told one thing whichever it is; operators see which.
 * `unavailable`: who it is cannot be told now, because the keys of the issuer cannot be had.
 */
export type Authentication =
  | { readonly kind: 'known'; readonly caller: Caller }
  | { readonly kind: 'refused'; readonly reason: 'missing' | 'unknown' | 'expired' | 'invalid_token' }
  | { readonly kind: 'unavailable' };

/** Finds the caller of a request by the credential it sent. Answers at once for API keys; never rejects. */
export type Authenticate = (credential: string | undefined) => Authentication | Promise<Authentication>;

/** The tools that a credential names. */
export type AllowedTools = Pick<Caller, 'tools' | 'mayUse'>;

export const ALL_TOOLS: AllowedTools = { tools: 'all', mayUse: () => true };

// A token is read anew with each request, and what is made for those who may use the same tools is known by their filter.
const filters = new Map<string, AllowedTools>();
const MOST_FILTERS = 256;

/** The tools that patterns allow; what is no pattern allows none. */
export const toAllowedTools = (patterns: readonly string[]): AllowedTools => {
  if (patterns.includes('*')) return ALL_TOOLS;
  const name = patterns.join(' ');
  const allowed = filters.get(name) ?? { tools: 'some', mayUse: createToolFilter(patterns) };
  if (filters.size >= MOST_FILTERS) filters.clear();
  filters.set(name, allowed);
  return allowed;
};

const ANONYMOUS: Caller = {
  tenant: 'anonymous',
  key: null,
  id: null,
  rateKey: null,
  rate: null,
  ...ALL_TOOLS,
  may: () => true,
};

/** Whether a tenant may be called so: 1 to 64 of A-Z a-z 0-9 _ . -, a letter or a digit first, and not `anonymous`. */
export const isTenant = (text: string): boolean =>
  /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/.test(text) && text !== ANONYMOUS.tenant;

const UNITS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000 };

/** Reads `600/m`: requests per second (s), minute (m) or hour (h), 1 to 999 999 999; null for anything else. */
export const parseRate = (text: string): Rate | null => {
  const [, requests = '', unit = ''] = /^([1-9]\d{0,8})\/([smh])$/.exec(text) ?? [];
  const windowMs = UNITS[unit];
  return windowMs === undefined ? null : { requests: Number(requests), windowMs };
};

/** Whether a credential has the form of a JSON Web Token in compact serialisation (RFC 7519, section 3). */
export const isTokenShaped = (credential: string): boolean => /^ey[\w-]*\.[\w-]*\.[\w-]*$/.test(credential);

/**
 * Finds callers by API keys first, then by tokens; null: not this way. Anonymous is everybody where no way in is set up,
 * and nobody where one is, also while there is no key in it.
 */
export const createAuthenticate = (
  apiKeys: { readonly authenticate: (credential: string) => Authentication } | null,
  tokens: ((token: string) => Promise<Authentication>) | null,
): Authenticate => {
  if (apiKeys === null && tokens === null) return () => ({ kind: 'known', caller: ANONYMOUS });
  return (credential) => {
    if (credential === undefined || credential === '') return { kind: 'refused', reason: 'missing' };
    const found = apiKeys?.authenticate(credential) ?? { kind: 'refused', reason: 'unknown' };
    const isUnknown = found.kind === 'refused' && found.reason === 'unknown';
    return isUnknown && tokens !== null && isTokenShaped(credential) ? tokens(credential) : found;
  };
};
