import type { Fault } from '@recourse/test-support/google/google-faults.ts';

/** What the texts of one API name. */
export type FaultApi = {
  /** `Google Drive` */
  readonly name: string;
  /** `drive.googleapis.com` */
  readonly service: string;
  readonly scope: string;
  /** The text of a 404. */
  readonly missing: string;
  /** The text of a 403 without access. */
  readonly forbidden: string;
};

export type FaultRow = {
  readonly name: string;
  readonly fault: Fault;
  /** How many requests the tool makes of it. */
  readonly requests: number;
  /** Default: 1. */
  readonly signIns?: number;
  readonly code: 'retry_requested' | 'tool_failed' | 'upstream_rate_limited' | 'upstream_unavailable';
  /** The whole text. */
  readonly text: string;
  readonly retryAfterMs?: number;
};

const refused = (reason: string, more: Partial<Extract<Fault, { readonly kind: 'status' }>> = {}): Fault => ({
  kind: 'status',
  status: 403,
  reason,
  message: 'Google has its reasons.',
  ...more,
});

/** What a detail of Google's newer errors says. */
const detail = (reason: string, metadata: Readonly<Record<string, string>> = {}): readonly unknown[] => [
  { '@type': 'type.googleapis.com/google.rpc.Help', links: [] },
  { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason, domain: 'googleapis.com', metadata },
];

const toRefusals = ({ name, service, scope, missing, forbidden }: FaultApi): readonly FaultRow[] => [
  {
    name: '400',
    fault: { kind: 'status', status: 400, reason: 'badRequest', message: 'Bad Request' },
    requests: 1,
    code: 'retry_requested',
    text: `${name} rejects this call (400). Google says: 'Bad Request'. Correct the parameters.`,
  },
  {
    name: '401',
    fault: { kind: 'status', status: 401, reason: 'authError', message: 'Invalid Credentials' },
    requests: 2,
    signIns: 2,
    code: 'tool_failed',
    text: 'The Google credentials have expired or were revoked. If this persists, a human must renew them in the file in GOOGLE_CREDENTIALS_PATH.',
  },
  {
    name: '403, API not enabled',
    fault: refused('accessNotConfigured'),
    requests: 1,
    code: 'retry_requested',
    text: `${name} API is not enabled. Run: gcloud services enable ${service} (then try again).`,
  },
  {
    name: '403, API not enabled, with the project',
    fault: refused('forbidden', {
      word: 'PERMISSION_DENIED',
      details: detail('SERVICE_DISABLED', { consumer: 'projects/12345', service }),
    }),
    requests: 1,
    code: 'retry_requested',
    text: `${name} API is not enabled. Run: gcloud services enable ${service} --project 12345 (then try again).`,
  },
  {
    name: '403, a project that is no name of one',
    fault: refused('accessNotConfigured', {
      details: detail('SERVICE_DISABLED', { consumer: 'projects/x; rm -rf /' }),
    }),
    requests: 1,
    code: 'retry_requested',
    text: `${name} API is not enabled. Run: gcloud services enable ${service} (then try again).`,
  },
  {
    name: '403, scope missing',
    fault: refused('insufficientPermissions', { details: detail('ACCESS_TOKEN_SCOPE_INSUFFICIENT') }),
    requests: 1,
    code: 'tool_failed',
    text: `The Google credentials do not give access to ${name}. A human must grant them the scope ${scope}.`,
  },
  {
    name: '403, a reason that is no want of access',
    fault: refused('domainPolicy'),
    requests: 1,
    code: 'tool_failed',
    text: `${name} refuses this (403). Google says: 'Google has its reasons.'. A human must resolve this.`,
  },
  { name: '403, no access', fault: refused('forbidden'), requests: 1, code: 'tool_failed', text: forbidden },
  {
    name: '404',
    fault: { kind: 'status', status: 404, reason: 'notFound', message: 'File not found' },
    requests: 1,
    code: 'retry_requested',
    text: missing,
  },
];

type QuotaReason = { readonly reason: string; readonly fault?: Fault };

const QUOTAS: readonly QuotaReason[] = [{ reason: 'dailyLimitExceeded' }, { reason: 'quotaExceeded' }];

const RATES: readonly QuotaReason[] = [
  { reason: 'rateLimitExceeded' },
  { reason: 'userRateLimitExceeded' },
  { reason: 'sharingRateLimitExceeded' },
  { reason: 'downloadQuotaExceeded' },
  { reason: 'RESOURCE_EXHAUSTED', fault: refused('forbidden', { word: 'RESOURCE_EXHAUSTED' }) },
  { reason: 'RATE_LIMIT_EXCEEDED', fault: refused('forbidden', { details: detail('RATE_LIMIT_EXCEEDED') }) },
];

const toLimits = ({ name }: FaultApi): readonly FaultRow[] => [
  {
    name: '429 with a long Retry-After',
    fault: { kind: 'status', status: 429, reason: 'rateLimitExceeded', headers: { 'retry-after': '120' } },
    requests: 1,
    code: 'upstream_rate_limited',
    text: `${name} rate limit exceeded (429). Try again in 120 seconds.`,
    retryAfterMs: 120_000,
  },
  {
    name: '403, the user rate limit',
    fault: refused('userRateLimitExceeded', { headers: { 'retry-after': '7' } }),
    requests: 1,
    code: 'upstream_rate_limited',
    text: `${name} rate limit exceeded (403). Try again in 7 seconds.`,
    retryAfterMs: 7_000,
  },
  ...QUOTAS.map(
    ({ reason, fault = refused(reason) }): FaultRow => ({
      name: `403, ${reason}`,
      fault,
      requests: 1,
      code: 'upstream_rate_limited',
      text: `The quota of ${name} is used up (403). Try again later.`,
    }),
  ),
  ...RATES.map(
    ({ reason, fault = refused(reason) }): FaultRow => ({
      name: `403, ${reason}`,
      fault,
      requests: 1,
      code: 'upstream_rate_limited',
      text: `${name} rate limit exceeded (403). Try again later.`,
    }),
  ),
];

const unreadable = (name: string, what: string, fault: Fault): FaultRow => ({
  name: what,
  fault,
  requests: 1,
  code: 'upstream_unavailable',
  text: `${name} sent an answer that cannot be read. Try again later.`,
});

const toBreakdowns = ({ name }: FaultApi): readonly FaultRow[] => [
  {
    name: '500 again and again',
    fault: { kind: 'status', status: 500 },
    requests: 3,
    code: 'upstream_unavailable',
    text: `${name} is not available (500). Try again later.`,
  },
  {
    name: '503 again and again',
    fault: { kind: 'status', status: 503 },
    requests: 3,
    code: 'upstream_unavailable',
    text: `${name} is not available (503). Try again later.`,
  },
  {
    name: 'a redirect, which is not followed',
    fault: { kind: 'status', status: 302, headers: { location: '/elsewhere' } },
    requests: 1,
    code: 'upstream_unavailable',
    text: `${name} is not available (302). Try again later.`,
  },
  unreadable(name, 'truncated JSON', { kind: 'truncated_json' }),
  unreadable(name, 'a page of HTML', { kind: 'body', body: '<html>Sorry…</html>', type: 'text/html' }),
  unreadable(name, 'JSON that is something else', { kind: 'body', body: '[1]' }),
  unreadable(name, 'an empty body', { kind: 'body', body: '' }),
  {
    name: 'a connection that is cut again and again',
    fault: { kind: 'cut_connection' },
    requests: 3,
    code: 'upstream_unavailable',
    text: `The connection to ${name} broke before the answer was complete (UND_ERR_SOCKET). Try again later.`,
  },
];

/** What Google can do to a tool that makes one request, and what must come of it. */
export const toFaultMatrix = (api: FaultApi): readonly FaultRow[] => [
  ...toRefusals(api),
  ...toLimits(api),
  ...toBreakdowns(api),
];

/** What passes within the time of one call: the tool succeeds with its second request. */
export const PASSING_FAULTS: readonly { readonly name: string; readonly fault: Fault }[] = [
  { name: '500', fault: { kind: 'status', status: 500 } },
  { name: '503', fault: { kind: 'status', status: 503 } },
  { name: '429 with Retry-After: 1', fault: { kind: 'status', status: 429, headers: { 'retry-after': '1' } } },
  { name: 'a cut connection', fault: { kind: 'cut_connection' } },
];
