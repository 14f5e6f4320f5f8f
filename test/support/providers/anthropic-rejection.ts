import type { Headers, Rejection } from './provider.ts';

/** A 400 in Anthropic's words. Clients react to some errors by their code. */
export const rejectAnthropic = (message: string, errorCode?: string): Rejection => ({
  status: 400,
  body: {
    type: 'error',
    error: {
      type: 'invalid_request_error',
      message,
      details: errorCode === undefined ? null : { error_code: errorCode },
    },
    request_id: 'req_scripted',
  },
});

/** The 401 without a key and the 400 without a version; null with both. */
export const rejectHeaders = (headers: Headers): Rejection | null => {
  if (typeof (headers['x-api-key'] ?? headers['authorization']) !== 'string')
    return {
      status: 401,
      body: { type: 'error', error: { type: 'authentication_error', message: 'x-api-key header is required' } },
    };
  return VERSIONS.has(String(headers['anthropic-version']))
    ? null
    : rejectAnthropic('anthropic-version: header is required');
};

const VERSIONS: ReadonlySet<string> = new Set(['2023-06-01', '2026-10-21']);
