import type { Logger } from 'pino';
import { type ApiKeys, createApiKeys, type Reload } from './auth/api-keys.ts';
import type { Authenticate } from './auth/caller.ts';
import { createAuthenticate } from './auth/create-authenticate.ts';
import { createIssuerKeys } from './auth/jwt/issuer-keys.ts';
import { type AuthenticateToken, createTokenAuthentication } from './auth/jwt/token-authentication.ts';
import { createOriginRule, type OriginRule } from './auth/origin-rule.ts';
import type { Config } from './config.ts';
import type { GateOptions } from './routes/request-gate.ts';
import type { Metrics } from './telemetry/metrics.ts';

export type AccessParts = {
  readonly metrics: Metrics;
  readonly log: Logger;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
  readonly limitRate: NonNullable<GateOptions['limitRate']>;
};

export type WiredAccess = {
  readonly authenticate: Authenticate;
  readonly mayComeFrom: OriginRule;
  readonly limitRate: NonNullable<GateOptions['limitRate']>;
  readonly onRefused: NonNullable<GateOptions['onRefused']>;
  /** Follows API_KEYS_FILE no longer. */
  readonly close: () => void;
};

/** Who may come in: API keys and tokens, from where, and how often. Throws where the keys are not right. */
export const wireAccess = (config: Config, parts: AccessParts): WiredAccess => {
  const { metrics, limitRate } = parts;
  const apiKeys = wireApiKeys(config, parts);
  const tokens = wireTokens(config, parts);
  const callers = apiKeys === null && tokens === null ? 'anonymous' : 'known';
  return {
    authenticate: createAuthenticate({ apiKeys, tokens }),
    mayComeFrom: createOriginRule({ allowedOrigins: config.ALLOWED_ORIGINS, callers }),
    limitRate,
    onRefused: (reason) => {
      const series = reason === 'rate' ? metrics.rateLimited : metrics.accessRefused[reason];
      series.count += 1;
    },
    close: apiKeys?.close ?? (() => undefined),
  };
};

const wireApiKeys = ({ API_KEYS, API_KEYS_FILE }: Config, { metrics, log }: AccessParts): ApiKeys | null => {
  if (API_KEYS.length === 0 && API_KEYS_FILE === undefined) return null;
  const onReload = (reload: Reload): void => {
    metrics.apiKeyReloads[reload.result].count += 1;
    if (reload.result === 'refused') {
      log.error({ mistakes: reload.mistakes }, 'API_KEYS_FILE was changed wrongly: the keys from before still hold');
      return;
    }
    metrics.apiKeys.set(reload.keys);
    log.info({ keys: reload.keys }, 'API keys were read again');
  };
  const apiKeys = createApiKeys({ entries: API_KEYS, file: API_KEYS_FILE ?? null, onReload, time: Date.now });
  metrics.apiKeys.set(apiKeys.count());
  return apiKeys;
};

const wireTokens = (config: Config, { now }: AccessParts): AuthenticateToken | null =>
  config.JWT_JWKS_URL === undefined
    ? null
    : createTokenAuthentication({
        keysOf: createIssuerKeys({ url: new URL(config.JWT_JWKS_URL), now }),
        issuer: config.JWT_ISSUER ?? null,
        audience: config.JWT_AUDIENCE ?? null,
        tenantClaim: config.JWT_TENANT_CLAIM,
      });
