import * as z from 'zod';
import { findKeyMistake } from '../auth/api-key.ts';
import { parseRate } from '../auth/rate.ts';
import { flag, list, optionalPort, whole } from './setting-kinds.ts';

// As a browser sends it: what has a path, or no scheme, would never match.
const isOrigin = (text: string): boolean => /^[a-z][a-z0-9+.-]*:\/\/[^/?#\s]+$/.test(text);
const ORIGIN_RULE = 'must be a comma-separated list of origins, for example https://app.example.com';
const isHttpUrl = (text: string): boolean => /^https?:\/\//.test(text) && URL.canParse(text);

/** Who may reach the service, and who may call. */
export const ACCESS_SETTINGS = {
  HOST: z
    .string()
    .default('127.0.0.1')
    .describe(
      'Address to listen on. Without API keys only a loopback address is accepted, unless ALLOW_ANONYMOUS=true.',
    ),
  PORT: whole(8080, 0, 65_535).describe('Port to listen on; 0 picks a free one. The log line `listening` carries it.'),
  OPS_PORT: optionalPort.describe(
    'A port of its own, on the same HOST, for `/live`, `/ready` and `/metrics`, which then are not on PORT; 0 picks a free one.',
  ),
  ALLOW_ANONYMOUS: flag(false).describe('Serve callers without an API key on any HOST.'),
  API_KEYS: list
    .superRefine((entries, context) => {
      const mistake = entries.map(findKeyMistake).find((found) => found !== null);
      if (mistake !== undefined) context.addIssue({ code: 'custom', message: mistake });
    })
    .describe(
      'Comma-separated keys, each `tenant=sha256` with the hex SHA-256 of what a caller sends as `Authorization: Bearer …` or `X-API-Key`, and what it may do. `recourse key` makes one.',
    ),
  API_KEYS_FILE: z
    .string()
    .optional()
    .describe(
      'A file of such keys, one a line; lines that start with # are comments. A change is followed without a restart.',
    ),
  JWT_JWKS_URL: z
    .string()
    .refine(isHttpUrl, 'must be an http:// or https:// address')
    .optional()
    .describe(
      'Where the public keys of an issuer of JSON Web Tokens are; its tokens are then accepted as `Authorization: Bearer …`.',
    ),
  JWT_ISSUER: z.string().optional().describe('The `iss` that tokens must have.'),
  JWT_AUDIENCE: z.string().optional().describe('The `aud` that tokens must have.'),
  JWT_TENANT_CLAIM: z.string().default('tenant').describe('The claim that names the tenant of a token.'),
  RATE_LIMIT: z
    .string()
    .refine((text) => parseRate(text) !== null, 'must be requests per second, minute or hour, for example 600/m')
    .optional()
    .describe(
      'Requests of one key that has no rate of its own, or of one address while anonymous, for example `600/m`; shared through Redis. Unset: no limit.',
    ),
  ALLOWED_ORIGINS: list
    .refine((origins) => origins.every(isOrigin), ORIGIN_RULE)
    .describe('Comma-separated origins that browsers may call from, besides loopback ones.'),
  DOCS: flag(true).describe('Serve the documentation of the interface: pages at `/docs`, and `/openapi.json`.'),
  CONSOLE: flag(true).describe('Serve the console, a page to look at tools and sessions, at `/console`.'),
} as const;
