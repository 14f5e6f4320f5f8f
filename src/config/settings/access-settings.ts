import * as z from 'zod';
import { findKeyMistake, loadApiKeys } from '../../auth/api-keys.ts';
import { parseRate } from '../../auth/callers.ts';
import { flag, list, optionalPort, whole } from '../../extensions/setting-kinds.ts';

// As a browser sends it: what has a path, or no scheme, would never match.
const isOrigin = (text: string): boolean => /^[a-z][a-z0-9+.-]*:\/\/[^/?#\s]+$/.test(text);
const ORIGIN_RULE = 'must be a comma-separated list of origins, for example https://app.example.com';
const isHttpUrl = (text: string): boolean => /^https?:\/\//.test(text) && URL.canParse(text);

/** Who may reach the service, and who may call. */
export const ACCESS_SETTINGS = {
  HOST: z
    .string()
    .default('127.0.0.1')
    .describe('Address to listen on. Without API keys only a loopback address, unless ALLOW_ANONYMOUS=true.'),
  PORT: whole(8080, 0, 65_535).describe('Port to listen on; 0 picks a free one (log line `listening`).'),
  OPS_PORT: optionalPort.describe(
    'A separate port on HOST for `/live`, `/ready` and `/metrics`, which PORT then no longer serves; 0 picks a free one.',
  ),
  ALLOW_ANONYMOUS: flag(false).describe('Serve callers without an API key on any HOST.'),
  API_KEYS: list
    .superRefine((entries, context) => {
      const malformed = entries.map(findKeyMistake).find((found) => found !== null);
      const [repeated] = loadApiKeys({ entries, fileText: null }).mistakes;
      if (repeated !== undefined) context.addIssue({ code: 'custom', message: malformed ?? `is invalid: ${repeated}` });
    })
    .describe(
      'Comma-separated keys, each `tenant=sha256` with the hex SHA-256 of the key, and its permissions: docs/access.md. `recourse key` creates one.',
    ),
  API_KEYS_FILE: z
    .string()
    .optional()
    .describe('A file of such keys, one per line. Changes are loaded without a restart.'),
  JWT_JWKS_URL: z
    .string()
    .refine(isHttpUrl, 'must be an http:// or https:// address')
    .optional()
    .describe('URL of the public keys (JWKS) of an issuer whose JSON Web Tokens are accepted.'),
  JWT_ISSUER: z.string().optional().describe('The `iss` that tokens must have.'),
  JWT_AUDIENCE: z.string().optional().describe('The `aud` that tokens must have.'),
  JWT_TENANT_CLAIM: z.string().default('tenant').describe('The claim that names the tenant of a token.'),
  RATE_LIMIT: z
    .string()
    .refine((text) => parseRate(text) !== null, 'must be requests per second, minute or hour, for example 600/m')
    .optional()
    .describe(
      'Request rate of a key without its own, or of an anonymous address, for example `600/m`; shared by replicas through Redis.',
    ),
  ALLOWED_ORIGINS: list
    .refine((origins) => origins.every(isOrigin), ORIGIN_RULE)
    .describe('Comma-separated origins, beside loopback, from which browsers may call.'),
  DOCS: flag(true).describe('Serve the API documentation at `/docs` and `/openapi.json`.'),
} as const;
