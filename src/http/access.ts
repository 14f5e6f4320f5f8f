import type { Logger } from 'pino';
import { type ApiKeys, createApiKeys, type KeyFile, type Reload, readKeyFile } from '../auth/api-keys.ts';
import { createAuthenticate, parseRate } from '../auth/callers.ts';
import { createOriginRule, isLoopback } from '../auth/origins.ts';
import type { LimitRate, RateLimitsOptions } from '../auth/rate-limits.ts';
import type { AuthenticateToken } from '../auth/tokens.ts';
import { type Config, hasKeys } from '../config/settings/config.ts';
import type { WorkspaceGuard } from '../config/workspace-guard.ts';
import type { FileReading } from '../files/watch-file.ts';
import type { GateRefusal } from '../routes/request-gate.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { createRefusalLog, type RefusedRequest } from '../telemetry/repeated-lines.ts';

/** API keys, which call back after each change. */
export type FollowedKeys = ApiKeys & { readonly onChange: (listener: () => void) => void };

export type AccessParts = Pick<RateLimitsOptions, 'memory' | 'now'> & {
  readonly metrics: Metrics;
  readonly log: Logger;
  /** What rates are counted with, all replicas together; null: this process counts alone. */
  readonly rates: RateLimitsOptions['store'];
  /** null: no setting names any. */
  readonly apiKeys: FollowedKeys | null;
};

/** Who may come in: API keys and tokens, from where, and how often. `close` follows API_KEYS_FILE no longer. */
export const createAccess = async (config: Config, parts: AccessParts) => {
  const { metrics, apiKeys } = parts;
  const tokens = await loadTokens(config, parts);
  const noteRefusal = createRefusalLog(parts);
  return {
    authenticate: createAuthenticate(apiKeys, tokens),
    mayComeFrom: createOriginRule({
      allowedOrigins: config.ALLOWED_ORIGINS,
      callers: apiKeys === null && tokens === null ? 'anonymous' : 'known',
      boundTo: isLoopback(config.HOST) ? 'loopback' : 'network',
    }),
    limitRate: await loadRates(config, parts),
    onRefused: (refused: RefusedRequest & { readonly reason: GateRefusal }): void => {
      const { reason } = refused;
      if (reason === 'rate') metrics.rateLimited.count += 1;
      // Counted where it is decided, with what there was too much of.
      else if (reason !== 'overloaded') metrics.accessRefused[reason].count += 1;
      noteRefusal(refused);
    },
    /** Calls back after each change of the API keys. */
    onKeysChange: (listener: () => void): void => apiKeys?.onChange(listener),
    close: (): void => apiKeys?.close(),
  };
};

/** The API keys of API_KEYS and API_KEYS_FILE, whose changes are followed; null where neither is set. */
export const openApiKeys = (
  { API_KEYS }: Config,
  {
    metrics,
    log,
    guard,
    keyFile,
  }: {
    readonly metrics: Metrics;
    readonly log: Logger;
    readonly guard: WorkspaceGuard;
    /** API_KEYS_FILE as it was read at the start; null where it is not set. */
    readonly keyFile: KeyFile | null;
  },
): FollowedKeys | null => {
  if (API_KEYS.length === 0 && keyFile === null) return null;
  const listeners = new Set<() => void>();
  const onReload = (reload: Reload): void => {
    metrics.apiKeyReloads[reload.result].count += 1;
    metrics.apiKeyFileRefused.count = reload.result === 'refused' ? 1 : 0;
    if (reload.result === 'refused') {
      log.error({ mistakes: reload.mistakes }, 'invalid API_KEYS_FILE, keeping the previous keys');
      return;
    }
    metrics.apiKeys.set(reload.keys);
    log.info({ keys: reload.keys }, 'API keys reloaded');
    for (const listener of listeners) listener();
  };
  const read = async (path: string): Promise<FileReading> => {
    const [problem] = await guard.check('API_KEYS_FILE', [path]);
    return problem === undefined ? readKeyFile(path) : { ok: false, problem };
  };
  const apiKeys = createApiKeys({ entries: API_KEYS, file: keyFile, onReload, read, time: Date.now });
  metrics.apiKeys.set(apiKeys.count());
  return { ...apiKeys, onChange: (listener) => void listeners.add(listener) };
};

// What reads tokens is loaded only where there are some to read.
const loadTokens = async (config: Config, { now, log }: AccessParts): Promise<AuthenticateToken | null> => {
  const { JWT_JWKS_URL, JWT_ISSUER, JWT_AUDIENCE, JWT_TENANT_CLAIM } = config;
  if (JWT_JWKS_URL === undefined) return null;
  if (JWT_AUDIENCE === undefined)
    log.warn({ setting: 'JWT_AUDIENCE' }, 'tokens that the issuer made for other services are also accepted');
  if (JWT_ISSUER === undefined)
    log.warn({ setting: 'JWT_ISSUER' }, 'tokens of every issuer whose keys are at JWT_JWKS_URL are accepted');
  const { createIssuerKeys, createTokenAuthentication } = await import('../auth/tokens.ts');
  return createTokenAuthentication({
    keysOf: createIssuerKeys({ url: new URL(JWT_JWKS_URL), now }),
    issuer: JWT_ISSUER ?? null,
    audience: JWT_AUDIENCE ?? null,
    tenantClaim: JWT_TENANT_CLAIM,
  });
};

/** Where no caller can have a rate, nothing that counts is loaded. */
const loadRates = async (config: Config, { metrics, rates, memory, now }: AccessParts): Promise<LimitRate> => {
  const { RATE_LIMIT } = config;
  // A key of the file may have a rate of its own from its next version on.
  if (RATE_LIMIT === undefined && !hasKeys(config)) return () => null;
  const { createRateLimits } = await import('../auth/rate-limits.ts');
  return createRateLimits({
    standard: RATE_LIMIT === undefined ? null : parseRate(RATE_LIMIT),
    store: rates,
    // Nothing else: the store's availability says that Redis is away, and why.
    onError: () => {
      metrics.rateLimitErrors.count += 1;
    },
    memory,
    now,
  });
};
