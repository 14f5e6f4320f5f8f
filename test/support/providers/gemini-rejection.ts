import type { Headers, Rejection } from './provider.ts';

/** A 400 in Gemini's words. */
export const rejectGemini = (message: string): Rejection => ({
  status: 400,
  body: { error: { code: 400, message, status: 'INVALID_ARGUMENT' } },
});

/** The 403 without a key; null with one. */
export const rejectUnregistered = (headers: Headers): Rejection | null =>
  typeof headers['x-goog-api-key'] === 'string'
    ? null
    : {
        status: 403,
        body: {
          error: {
            code: 403,
            message: "Method doesn't allow unregistered callers (callers without established identity).",
            status: 'PERMISSION_DENIED',
          },
        },
      };
