import { expect, test } from 'vitest';
import { loadConfig } from '#src/config/settings/config.ts';
import { wireRedaction } from '#src/wiring/wire-redaction.ts';

/** Which of these values a service with that environment takes out of a text. */
const redactedOf = (environment: Readonly<Record<string, string>>, values: readonly string[]): readonly string[] => {
  const loaded = loadConfig(environment);
  if ('mistakes' in loaded) throw new Error(loaded.mistakes.join('\n'));
  const { redactor } = wireRedaction(loaded.config, environment);
  return values.filter((value) => redactor.text(value, 'log') !== value);
};

test('values of variables that end as secrets do are registered, in either case, others are not', () => {
  const environment = {
    GITHUB_TOKEN: 'value-of-token',
    OPENAI_API_KEY: 'value-of-key',
    CLIENT_SECRET: 'value-of-secret',
    pg_password: 'value-of-password',
    MY_CREDENTIALS: 'value-of-credentials',
    TOKEN_FILE: 'value-of-file',
    API_KEYS: `a=${'0'.repeat(64)}`,
    WORKSPACE: 'value-of-workspace',
  };
  expect(redactedOf(environment, Object.values(environment))).toEqual([
    'value-of-token',
    'value-of-key',
    'value-of-secret',
    'value-of-password',
    'value-of-credentials',
  ]);
});

test('SECRETS_ENV replaces what is registered: names, beginnings and endings', () => {
  const environment = {
    SECRETS_ENV: 'MY_PIN,GITHUB_*,*_HUSH',
    MY_PIN: 'value-of-pin',
    GITHUB_APP: 'value-of-app',
    A_HUSH: 'value-of-hush',
    MY_TOKEN: 'value-of-token',
    MY_PIN_2: 'value-of-second',
  };
  expect(redactedOf(environment, Object.values(environment).slice(1))).toEqual([
    'value-of-pin',
    'value-of-app',
    'value-of-hush',
  ]);
});

test("Redis's passwords are registered as they are written and as they are meant, its addresses and user are not", () => {
  const environment = {
    REDIS_URL: 'redis://recourse:hush%2Fhush1@one.example.com:6379,rediss://:otherhush@two.example.com',
  };
  expect(
    redactedOf(environment, [
      'hush%2Fhush1',
      'hush/hush1',
      'otherhush',
      'recourse',
      'one.example.com',
      'two.example.com',
    ]),
  ).toEqual(['hush%2Fhush1', 'hush/hush1', 'otherhush']);
});

test("Sentinel's passwords are registered, also one with a comma, its hosts and the name of the master are not", () => {
  const environment = {
    REDIS_URL: 'redis+sentinel://recourse:hush,hush1%2F@one.example.com:26379,two.example.com/mymaster/1',
    REDIS_SENTINEL_PASSWORD: 'sentinelhush',
    SECRETS_ENV: 'OTHER',
  };
  const texts = ['hush,hush1%2F', 'hush,hush1/', 'sentinelhush', 'recourse', 'one.example.com', 'two.example.com'];
  expect(redactedOf(environment, [...texts, 'mymaster'])).toEqual(['hush,hush1%2F', 'hush,hush1/', 'sentinelhush']);
});

test('keys of the store are registered, their ids are not', () => {
  const [one, two] = [1, 2].map((fill) => Buffer.alloc(32, fill).toString('base64'));
  const environment = { STORE_KEYS: `first-id:${one},second-id:${two}`, SECRETS_ENV: 'OTHER' };
  expect(redactedOf(environment, [String(one), String(two), 'first-id', 'second-id'])).toEqual([one, two]);
});

test('headers for a collector of traces are registered, without their scheme, too', () => {
  const environment = { OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20abcdefgh-one,x-team=value%3Dtwo' };
  expect(redactedOf(environment, ['abcdefgh-one', 'value=two', 'authorization'])).toEqual([
    'abcdefgh-one',
    'value=two',
  ]);
});

test('passwords and tokens in addresses that tools get are registered', () => {
  const environment = {
    TOOLS_ENV: 'DATABASE',
    TOOLS_ENV_ALLOW: 'GIT_*',
    DATABASE: 'postgres://bob:passphrase@db.example.com/x',
    GIT_REMOTE: 'https://token-of-git@git.example.com',
    OTHER: 'https://bob:otherpassphrase@example.com',
  };
  expect(redactedOf(environment, ['passphrase', 'token-of-git', 'otherpassphrase', 'db.example.com'])).toEqual([
    'passphrase',
    'token-of-git',
    'otherpassphrase',
  ]);
});

test('a password that is a word of the answers themselves is not registered', () => {
  const words = ['executed', 'duration_ms', 'tool_exception', 'redacted', 'retry_after_ms'];
  const environment = Object.fromEntries(words.map((word, place) => [`N${place}_PASSWORD`, word]));
  expect(redactedOf(environment, words)).toEqual([]);
  const { config } = loadConfig(environment);
  expect(wireRedaction(config, { ...environment, GOOD_PASSWORD: 'exception' }).leftOut).toEqual([
    'N0_PASSWORD',
    'N1_PASSWORD',
    'N2_PASSWORD',
    'N3_PASSWORD',
    'N4_PASSWORD',
  ]);
});

test('a password that is only a part of such a word is registered', () => {
  const words = ['exception', 'duration', 'expected_', '86400000'];
  const environment = Object.fromEntries(words.map((word, place) => [`N${place}_PASSWORD`, word]));
  expect(redactedOf(environment, words)).toEqual(words);
});

test('a password with a raw / in an address is registered, and no port is', () => {
  const environment = {
    TOOLS_ENV: 'ONE,TWO,THREE',
    ONE: 'postgres://bob:pass/phrase@db.example.com/x',
    TWO: 'https://two.example.com:8080/path/of@someone',
    THREE: 'redis://:hush/hush@three.example.com',
  };
  expect(redactedOf(environment, ['pass/phrase', '8080/path/of', 'path/of@someone', 'hush/hush'])).toEqual([
    'pass/phrase',
    'hush/hush',
  ]);
});

test('what was redacted before there were metrics is counted in them', () => {
  const environment = { MY_TOKEN: 'value-of-token' };
  const { config } = loadConfig(environment);
  const { redactor, countIn } = wireRedaction(config, environment);
  redactor.text('value-of-token', 'log');
  const counts = { result: { count: 0 }, journal: { count: 0 }, log: { count: 0 }, span: { count: 0 } };
  countIn(counts);
  redactor.text('value-of-token', 'log');
  redactor.value('"value-of-token"', 'result');
  expect(counts).toEqual({ result: { count: 1 }, journal: { count: 0 }, log: { count: 2 }, span: { count: 0 } });
});
