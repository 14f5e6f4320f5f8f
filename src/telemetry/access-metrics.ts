import { Gauge, type Registry } from 'prom-client';
import { type CountSeries, createTallyCounter, createTallyGauge } from './tally.ts';

/**
 * Why a request was refused before it was read: nobody was found behind its credential (401), the credential does not
 * allow what it asks for (403), it comes from an origin that may not call (403), or who sent it could not be told (503).
 */
export type AccessRefusal =
  | 'missing'
  | 'unknown'
  | 'expired'
  | 'invalid_token'
  | 'operation'
  | 'origin'
  | 'unavailable';

/** Where a secret was found and replaced. */
export type RedactedIn = 'result' | 'journal' | 'log' | 'span';

/** Metrics of who may call, how often, and of what must not be seen. */
export const createAccessMetrics = (registry: Registry) => ({
  accessRefused: createAccessCounter(registry),
  rateLimited: createTallyCounter({
    registry,
    name: 'recourse_rate_limited_total',
    help: 'Requests answered 429 because their caller had sent too many.',
    labelNames: [],
  })({}),
  rateLimitErrors: createTallyCounter({
    registry,
    name: 'recourse_rate_limit_errors_total',
    help: 'Requests whose rate was counted in this process alone because Redis could not be asked.',
    labelNames: [],
  })({}),
  apiKeys: new Gauge({
    name: 'recourse_api_keys',
    help: 'API keys that are known now, expired ones included.',
    registers: [registry],
  }),
  apiKeyFileRefused: createTallyGauge({
    registry,
    name: 'recourse_api_key_file_refused',
    help: '1 while API_KEYS_FILE as it stands is refused for a mistake in it, and the keys from before hold.',
    labelNames: [],
  })({}),
  apiKeyReloads: createReloadCounter(registry),
  secretsRedacted: createRedactionCounter(registry),
});

const createAccessCounter = (registry: Registry): Readonly<Record<AccessRefusal, CountSeries>> => {
  const refused = createTallyCounter({
    registry,
    name: 'recourse_access_refused_total',
    help: 'Requests refused for who sent them: missing, unknown, expired, invalid_token (401), operation, origin (403), unavailable (503).',
    labelNames: ['reason'],
  });
  return {
    missing: refused({ reason: 'missing' }),
    unknown: refused({ reason: 'unknown' }),
    expired: refused({ reason: 'expired' }),
    invalid_token: refused({ reason: 'invalid_token' }),
    operation: refused({ reason: 'operation' }),
    origin: refused({ reason: 'origin' }),
    unavailable: refused({ reason: 'unavailable' }),
  };
};

const createReloadCounter = (registry: Registry): Readonly<Record<'taken' | 'refused', CountSeries>> => {
  const reloads = createTallyCounter({
    registry,
    name: 'recourse_api_key_reloads_total',
    help: 'Changes of API_KEYS_FILE that were taken, or refused for a mistake in them.',
    labelNames: ['result'],
  });
  return { taken: reloads({ result: 'taken' }), refused: reloads({ result: 'refused' }) };
};

const createRedactionCounter = (registry: Registry): Readonly<Record<RedactedIn, CountSeries>> => {
  const redacted = createTallyCounter({
    registry,
    name: 'recourse_secrets_redacted_total',
    help: 'Texts in which a secret was found and replaced, by where they were going.',
    labelNames: ['place'],
  });
  return {
    result: redacted({ place: 'result' }),
    journal: redacted({ place: 'journal' }),
    log: redacted({ place: 'log' }),
    span: redacted({ place: 'span' }),
  };
};
