import { line, NEUTRAL, only, type Row } from './panel.ts';
import { increase, rate, series, sum, sumBy } from './queries.ts';

export const ACCESS_ROW: Row = {
  title: 'Access and secrets',
  lines: [
    line(
      {
        kind: 'graph',
        title: 'Refused for who sent them',
        alerts: ['RecourseCallersUnknowable'],
        description:
          'Requests per second that were answered 401, 403, or 503 where the keys of an issuer cannot be had (unavailable). Much unknown: somebody guesses. expired: a caller was not told of its new key.',
        unit: 'reqps',
        queries: only(sumBy('reason', rate('recourse_access_refused_total')), '{{reason}}'),
      },
      {
        kind: 'graph',
        title: 'Sent too much',
        description: 'Requests per second that were answered 429, because their caller had sent more than its rate.',
        unit: 'reqps',
        queries: only(sum(rate('recourse_rate_limited_total')), '429'),
      },
      {
        kind: 'graph',
        title: 'Limits counted locally',
        alerts: ['RecourseRateLimitsLocal'],
        description:
          'Requests per second whose rate each replica counted for itself because Redis could not be asked: the limits are then as many times as generous as there are replicas.',
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
          'Texts per second in which a secret was found and replaced, by where they were going. Nothing leaked; but a tool tells secrets again and again, or a caller guesses at one.',
        unit: 'ops',
        queries: only(sumBy('place', rate('recourse_secrets_redacted_total')), '{{place}}'),
      },
      {
        kind: 'graph',
        title: 'Keys known',
        description:
          'API keys that each replica knows, expired ones included. Replicas that differ read different files.',
        unit: 'short',
        queries: only(series('recourse_api_keys'), '{{instance}}'),
      },
      {
        kind: 'bars',
        title: 'Changes of the keys',
        description: 'Changes of API_KEYS_FILE over the time shown that were taken, or refused for a mistake in them.',
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
          'Refused while API_KEYS_FILE as it stands is not taken for a mistake in it: the keys from before still hold, and the log says which line is wrong.',
        unit: 'short',
        max: 1,
        form: 'steps',
        words: ['taken', 'refused'],
        queries: only(series('recourse_api_key_file_refused'), '{{instance}}'),
      },
    ),
  ],
};
