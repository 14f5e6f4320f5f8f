import { existsSync } from 'node:fs';
import type { Logger } from 'pino';
import { type ApiKeys, createApiKeys, loadFirstKeys, type Reload } from '../auth/api-keys.ts';
import type { Authenticate } from '../auth/caller.ts';
import { createAuthenticate } from '../auth/create-authenticate.ts';
import { type KeyFile, type KeyFileReading, loadKeyFile, readKeyFile } from '../auth/key-file.ts';
import { isLoopback } from '../auth/loopback.ts';
import { createOriginRule, type OriginRule } from '../auth/origin-rule.ts';
import type { AuthenticateToken } from '../auth/token-authentication.ts';
import type { GateOptions, GateRefusal } from '../routes/request-gate.ts';
import type { Config } from '../settings/config.ts';
import { createRefusalLog } from '../telemetry/create-refusal-log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { WorkspaceGuard } from './workspace-guard.ts';

export type AccessParts = {
  readonly metrics: Metrics;
  readonly log: Logger;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
  readonly limitRate: NonNullable<GateOptions['limitRate']>;
  readonly guard: WorkspaceGuard;
  /** API_KEYS_FILE, where it was read already: it may say something else now, and what is no file says things once. */
  readonly keyFile?: KeyFile | null | undefined;
};

export type WiredAccess = {
  readonly authenticate: Authenticate;
  readonly mayComeFrom: OriginRule;
  readonly limitRate: NonNullable<GateOptions['limitRate']>;
  readonly onRefused: NonNullable<GateOptions['onRefused']>;
  /** Follows API_KEYS_FILE no longer. */
  readonly close: () => void;
};

/** Who may come in: API keys and tokens, from where, and how often. Rejects where the keys are not right. */
export const wireAccess = async (config: Config, parts: AccessParts): Promise<WiredAccess> => {
  const { metrics, limitRate } = parts;
  const apiKeys = wireApiKeys(config, parts);
  const tokens = await wireTokens(config, parts);
  const noteRefusal = createRefusalLog(parts);
  const callers = apiKeys === null && tokens === null ? 'anonymous' : 'known';
  const boundTo = isLoopback(config.HOST) ? 'loopback' : 'network';
  return {
    authenticate: createAuthenticate({ apiKeys, tokens }),
    mayComeFrom: createOriginRule({ allowedOrigins: config.ALLOWED_ORIGINS, callers, boundTo }),
    limitRate,
    onRefused: (refused) => {
      countRefusal(refused.reason, metrics);
      noteRefusal(refused);
    },
    close: apiKeys?.close ?? (() => undefined),
  };
};

const countRefusal = (reason: GateRefusal, metrics: Metrics): void => {
  if (reason === 'rate') metrics.rateLimited.count += 1;
  // Counted where it is decided, with what there was too much of.
  else if (reason !== 'overloaded') metrics.accessRefused[reason].count += 1;
};

/**
 * API_KEYS_FILE as it is now, null where it is not set. Throws one sentence where it cannot be read, has a mistake in it,
 * or would leave nobody who may call.
 */
export const readFirstKeyFile = ({ API_KEYS, API_KEYS_FILE: path, JWT_JWKS_URL }: Config): KeyFile | null => {
  if (path === undefined) return null;
  if (!existsSync(path))
    throw new Error(`API_KEYS_FILE ${path} does not exist: recourse key --tenant NAME --file ${path} makes it.`);
  const file = loadKeyFile(path);
  const isOnlyWayIn = API_KEYS.length === 0 && JWT_JWKS_URL === undefined;
  if (loadFirstKeys({ entries: [], file }).length === 0 && isOnlyWayIn)
    throw new Error(`API_KEYS_FILE ${path} holds no key.`);
  return file;
};

const wireApiKeys = (config: Config, { metrics, log, guard, keyFile }: AccessParts): ApiKeys | null => {
  const { API_KEYS } = config;
  const file = keyFile === undefined ? readFirstKeyFile(config) : keyFile;
  if (API_KEYS.length === 0 && file === null) return null;
  const onReload = (reload: Reload): void => {
    metrics.apiKeyReloads[reload.result].count += 1;
    metrics.apiKeyFileRefused.count = reload.result === 'refused' ? 1 : 0;
    if (reload.result === 'refused') {
      log.error({ mistakes: reload.mistakes }, 'API_KEYS_FILE was changed wrongly: the keys from before still hold');
      return;
    }
    metrics.apiKeys.set(reload.keys);
    log.info({ keys: reload.keys }, 'API keys were read again');
  };
  const read = async (path: string): Promise<KeyFileReading> => {
    const [problem] = await guard.check('API_KEYS_FILE', [path]);
    return problem === undefined ? readKeyFile(path) : { ok: false, problem };
  };
  const apiKeys = createApiKeys({ entries: API_KEYS, file, onReload, read, time: Date.now });
  metrics.apiKeys.set(apiKeys.count());
  return apiKeys;
};

// What reads tokens is loaded only where there are some to read.
const wireTokens = async (config: Config, { now, log }: AccessParts): Promise<AuthenticateToken | null> => {
  const { JWT_JWKS_URL, JWT_ISSUER, JWT_AUDIENCE, JWT_TENANT_CLAIM } = config;
  if (JWT_JWKS_URL === undefined) return null;
  if (JWT_AUDIENCE === undefined)
    log.warn({ setting: 'JWT_AUDIENCE' }, 'tokens that the issuer made for other services are accepted, too');
  if (JWT_ISSUER === undefined)
    log.warn({ setting: 'JWT_ISSUER' }, 'tokens of every issuer whose keys are at JWT_JWKS_URL are accepted');
  const { createTokenAuthentication } = await import('../auth/token-authentication.ts');
  const { createIssuerKeys } = await import('../auth/issuer-keys.ts');
  return createTokenAuthentication({
    keysOf: createIssuerKeys({ url: new URL(JWT_JWKS_URL), now }),
    issuer: JWT_ISSUER ?? null,
    audience: JWT_AUDIENCE ?? null,
    tenantClaim: JWT_TENANT_CLAIM,
  });
};
