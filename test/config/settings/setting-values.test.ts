import { configOf, mistakesOf, rulesBrokenBy } from '@recourse/test-support/read-settings.ts';
import { expect, test } from 'vitest';

const DIGEST = 'a'.repeat(64);

const OTHER_DIGEST = 'b'.repeat(64);

test.each(['-1', '1.5', 'abc', '1e3', '0x10', ' 1', '1 ', '+1', 'NaN', 'Infinity', '1_000', '9999999999999999'])(
  'the number %j is refused',
  (text) => {
    expect(mistakesOf({ SESSION_RETRIES: text })).toEqual(['SESSION_RETRIES must be a whole number']);
  },
);

test('a flag is true or false, also as 1 or 0, and nothing else', () => {
  expect(configOf({ GRACEFUL_TOOL_ERRORS: 'false' }).GRACEFUL_TOOL_ERRORS).toBe(false);
  expect(configOf({ GRACEFUL_TOOL_ERRORS: '0' }).GRACEFUL_TOOL_ERRORS).toBe(false);
  expect(configOf({ FETCH_ALLOW_PRIVATE: 'true' }).FETCH_ALLOW_PRIVATE).toBe(true);
  expect(configOf({ FETCH_ALLOW_PRIVATE: '1' }).FETCH_ALLOW_PRIVATE).toBe(true);
  for (const word of ['yes', 'TRUE', 'on', ' true', '2'])
    expect(rulesBrokenBy({ FETCH_ALLOW_PRIVATE: word })).toEqual(['FETCH_ALLOW_PRIVATE must be true or false']);
});

test('a choice names its words where it is given another', () => {
  expect(rulesBrokenBy({ LOG_LEVEL: 'loud', RETRY_BUDGET_ON_STORE_DOWN: 'Local' })).toEqual([
    'LOG_LEVEL must be one of trace, debug, info, warn, error, fatal, silent',
    'RETRY_BUDGET_ON_STORE_DOWN must be one of local, open, closed',
  ]);
});

test('lists are split at commas, trimmed, and empty entries do not count', () => {
  const given = {
    API_KEYS: ` acme=${DIGEST}, , beta=${OTHER_DIGEST},`,
    ALLOWED_ORIGINS: 'https://a.example, http://b:3000',
  };
  expect(configOf(given)).toMatchObject({
    API_KEYS: [`acme=${DIGEST}`, `beta=${OTHER_DIGEST}`],
    ALLOWED_ORIGINS: ['https://a.example', 'http://b:3000'],
  });
});

test('REDIS_URL takes one server, a list of nodes, or Sentinels', () => {
  for (const url of [
    'redis://127.0.0.1:6379',
    'rediss://user:password@redis.internal:6380/2',
    'redis://[::1]:6379',
    'redis://a:7000, redis://b:7000,redis://c:7000',
    'redis+sentinel://user:pass%2Fword@a:26379,b/mymaster/2',
    'rediss+sentinel://a/mymaster',
  ])
    expect(configOf({ REDIS_URL: url }).REDIS_URL).toBe(url);
});

test('a REDIS_URL that is none is refused, and its password not repeated', () => {
  for (const url of [
    'http://a',
    '127.0.0.1:6379',
    'redis://',
    'redis://a:99999',
    'redis://:secret@a,b',
    'redis:// a',
    'redis://a,',
    'sentinel://a/m',
  ])
    expect(rulesBrokenBy({ REDIS_URL: url }), url).toEqual([
      'REDIS_URL must be redis://… or rediss://…, a comma-separated list of them, or redis+sentinel://HOST/NAME',
    ]);
});
