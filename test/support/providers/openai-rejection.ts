import type { Headers, Rejection } from './provider.ts';

/** A 400 in OpenAI's words. */
export const rejectOpenai = (message: string, param: string | null, code: string | null = null): Rejection => ({
  status: 400,
  body: { error: { message, type: 'invalid_request_error', param, code } },
});

export const rejectType = (param: string, expected: string, got: string): Rejection =>
  rejectOpenai(`Invalid type for '${param}': expected ${expected}, but got ${got} instead.`, param, 'invalid_type');

/** The 401 without a key; null with one. */
export const rejectKeyless = ({ authorization }: Headers): Rejection | null =>
  typeof authorization === 'string' && /^Bearer \S/.test(authorization)
    ? null
    : {
        status: 401,
        body: {
          error: {
            message: "You didn't provide an API key.",
            type: 'invalid_request_error',
            param: null,
            code: 'invalid_api_key',
          },
        },
      };
