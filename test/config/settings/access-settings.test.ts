import { configOf, mistakesOf, rulesBrokenBy } from '@recourse/test-support/read-settings.ts';
import { expect, test } from 'vitest';

const DIGEST = 'a'.repeat(64);

test('a key that is not given by its hash is refused, and not repeated', () => {
  for (const keys of ['secret', 'acme=secret', `acme=${DIGEST}0`, `=${DIGEST}`])
    expect(mistakesOf({ API_KEYS: keys })).toEqual([
      'API_KEYS must be tenant=SHA-256, the hash of a key in 64 hex digits, for example acme=5e88…; `recourse key` creates one',
    ]);
});

test('one key twice is refused by its place', () => {
  expect(mistakesOf({ API_KEYS: `acme=${DIGEST},other=${DIGEST} tools=echo` })).toEqual([
    'API_KEYS is invalid: entry 2 of API_KEYS repeats the key of entry 1 of API_KEYS; remove one',
  ]);
});

test('an origin that could never match is refused', () => {
  for (const origin of ['a.example', 'https://a.example/', 'https://a.example/path', '*', 'https://'])
    expect(rulesBrokenBy({ ALLOWED_ORIGINS: `https://b.example,${origin}` })).toEqual([
      'ALLOWED_ORIGINS must be a comma-separated list of origins, for example https://app.example.com',
    ]);
});

test.each([
  ['health on the port of calls', { OPS_PORT: '8080' }, ['OPS_PORT must differ from PORT: choose another port']],
  ['a port that is none', { OPS_PORT: '99999' }, ['OPS_PORT must be from 0 to 65535']],
  [
    'tokens of anybody for anything',
    { JWT_JWKS_URL: 'https://issuer.example.com/keys' },
    [
      'JWT_JWKS_URL must be set together with JWT_ISSUER or JWT_AUDIENCE, so that tokens issued for other services are refused',
    ],
  ],
  [
    'an issuer without keys',
    { JWT_ISSUER: 'https://issuer.example.com' },
    [
      'JWT_JWKS_URL must be set together with JWT_ISSUER or JWT_AUDIENCE, so that tokens issued for other services are refused',
    ],
  ],
  [
    'keys that are no address',
    { JWT_JWKS_URL: 'file:///keys', JWT_ISSUER: 'me' },
    ['JWT_JWKS_URL must be an http:// or https:// address'],
  ],
  [
    'a rate without a unit',
    { RATE_LIMIT: '600' },
    ['RATE_LIMIT must be requests per second, minute or hour, for example 600/m'],
  ],
  [
    'no rate at all',
    { RATE_LIMIT: '0/m' },
    ['RATE_LIMIT must be requests per second, minute or hour, for example 600/m'],
  ],
  [
    'a collector that is no address',
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317' },
    ['OTEL_EXPORTER_OTLP_ENDPOINT must be an http:// or https:// address'],
  ],
  [
    'a pattern with two stars',
    { SECRETS_ENV: '*TOKEN*' },
    ['SECRETS_ENV must be a comma-separated list of variables, prefixes such as GITHUB_* or suffixes such as *_TOKEN'],
  ],
])('%s is refused', (_what, environment, mistakes) => {
  expect(rulesBrokenBy(environment)).toEqual(mistakes);
});

test('two free ports are two ports', () => {
  expect(configOf({ PORT: '0', OPS_PORT: '0' })).toMatchObject({ PORT: 0, OPS_PORT: 0 });
});

test('with tokens alone the service may listen anywhere', () => {
  const tokens = { JWT_JWKS_URL: 'https://issuer.example.com/keys', JWT_ISSUER: 'https://issuer.example.com' };
  expect(configOf({ HOST: '0.0.0.0', ...tokens }).HOST).toBe('0.0.0.0');
});
