import { line, NEUTRAL, only, type Row } from './panel.ts';
import { increase, rate, series, sum, sumBy } from './queries.ts';

export const ACCESS_ROW: Row = {
  title: 'Access and secrets',
  lines: [
    line(
      {
        kind: 'graph',
        title: 'Refused by authentication',
        alerts: ['RecourseCallersUnknowable'],
        description:
          'Requests per second that were answered 401, 403, or 503 when the keys of an issuer cannot be fetched (unavailable). Many unknown: someone guesses keys. expired: a caller still uses its old key.',
        unit: 'reqps',
        queries: only(sumBy('reason', rate('recourse_access_refused_total')), '{{reason}}'),
      },
      {
        kind: 'graph',
        title: 'Rate limited',
        description: 'Requests per second that were answered 429 because their caller exceeded its rate.',
        unit: 'reqps',
        queries: only(sum(rate('recourse_rate_limited_total')), '429'),
      },
      {
        kind: 'graph',
        title: 'Limits counted locally',
        alerts: ['RecourseRateLimitsLocal'],
        description:
          'Requests per second whose rate each replica counted locally because Redis was unavailable: the effective limit is then multiplied by the number of replicas.',
        unit: 'reqps',
        queries: only(sum(rate('recourse_rate_limit_errors_total')), 'requests'),
      },
    ),
    line(
      {
        kind: 'graph',
        title: 'Secrets redacted',
        alerts: ['RecourseSecretsRedacted'],
        description:
          'Texts per second in which a secret was redacted, by destination. Nothing leaked, but a tool keeps returning secrets, or a caller guesses one.',
        unit: 'ops',
        queries: only(sumBy('place', rate('recourse_secrets_redacted_total')), '{{place}}'),
      },
      {
        kind: 'graph',
        title: 'Keys loaded',
        description:
          'API keys that each replica has loaded, expired ones included. Replicas that differ read different files.',
        unit: 'short',
        queries: only(series('recourse_api_keys'), '{{instance}}'),
      },
      {
        kind: 'bars',
        title: 'Changes of the keys',
        description: 'Changes of API_KEYS_FILE over the time shown, loaded (taken) or refused as invalid (refused).',
        unit: 'short',
        steps: NEUTRAL,
        colours: { taken: 'green', refused: 'red' },
        queries: only(sumBy('result', increase('recourse_api_key_reloads_total')), '{{result}}'),
      },
      {
        kind: 'graph',
        title: 'Key file refused',
        alerts: ['RecourseApiKeysRefused'],
        description:
          'Refused while API_KEYS_FILE is invalid: the previous keys stay in use, and the log names the line.',
        unit: 'short',
        max: 1,
        form: 'steps',
        words: ['taken', 'refused'],
        queries: only(series('recourse_api_key_file_refused'), '{{instance}}'),
      },
    ),
  ],
};
