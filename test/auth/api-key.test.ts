import { expect, test } from 'vitest';
import { type ApiKey, findKeyMistake, loadApiKeys, parseApiKey } from '#src/auth/api-keys.ts';

// printf %s key-of-acme | sha256sum
const HASH = 'a6cfea1a3a7f3ed1a1d9d4c9f5b0f4a5c2d1e0f9a8b7c6d5e4f3a2b1c0d9e8f7';
const OTHER = 'b'.repeat(64);

const keyOf = (entry: string): ApiKey => {
  const parsed = parseApiKey(entry);
  if (!parsed.ok) throw new Error(parsed.mistake);
  return parsed.key;
};

const operationsOf = ({ caller }: ApiKey): readonly string[] =>
  (['call', 'read', 'reset', 'operate'] as const).filter((operation) => caller.may(operation));

test('a tenant and a hash alone are a key that may do everything but operate, for ever', () => {
  const key = keyOf(`acme=${HASH}`);
  expect(key.hash.toString('hex')).toBe(HASH);
  expect(key.caller.validUntil).toBeUndefined();
  expect(key.caller).toMatchObject({ tenant: 'acme', key: 'a6cfea1a', rate: null, tools: 'all' });
  expect(key.caller.mayUse('anything')).toBe(true);
  expect(operationsOf(key)).toEqual(['call', 'read', 'reset']);
});

test('attributes stand after the hash, in any order, between any blanks', () => {
  const key = keyOf(
    `  Team-1.x=${HASH.toUpperCase()}\texpires=2027-06-30  rate=600/m may=read|call name=ci tools=echo|github_*\r`,
  );
  expect(key.hash.toString('hex')).toBe(HASH);
  expect(key.caller.validUntil).toBe(1_814_313_600_000);
  expect(key.caller).toMatchObject({
    tenant: 'Team-1.x',
    key: 'ci',
    rate: { requests: 600, windowMs: 60_000 },
    tools: 'some',
  });
  expect(operationsOf(key)).toEqual(['call', 'read']);
});

test.for([
  ['operate', ['operate']],
  ['operate|read', ['read', 'operate']],
  ['call|read|reset', ['call', 'read', 'reset']],
  ['call|read|reset|operate', ['call', 'read', 'reset', 'operate']],
] as const)(
  'may=%s allows that and no more: operate brings nothing, and nothing brings operate',
  ([may, operations]) => {
    expect(operationsOf(keyOf(`acme=${HASH} may=${may}`))).toEqual(operations);
  },
);

test('tools are names, or beginnings that end with a star', () => {
  const { caller } = keyOf(`acme=${HASH} tools=echo|github_*`);
  const names = [
    'echo',
    'github_',
    'github_search',
    'my_github_',
    'echo2',
    'Echo',
    'github',
    'githubx',
    '_unknown',
    '__proto__',
    '',
  ];
  expect(names.filter(caller.mayUse)).toEqual(['echo', 'github_', 'github_search']);
  expect(keyOf(`acme=${HASH} tools=echo|*`).caller).toMatchObject({ tools: 'all' });
});

test('an expiry is an instant in UTC; a day means its beginning', () => {
  const at = (text: string) => keyOf(`acme=${HASH} expires=${text}`).caller.validUntil;
  expect(at('2027-06-30T12:30:00Z')).toBe(1_814_358_600_000);
  expect(at('2027-06-30T12:30Z')).toBe(1_814_358_600_000);
  expect(at('2027-06-30T12:30:00.250Z')).toBe(1_814_358_600_250);
});

test('what requests are counted under tells neither the key nor its hash', () => {
  const { rateKey } = keyOf(`acme=${HASH}`).caller;
  expect(rateKey).not.toBe(keyOf(`acme=${OTHER}`).caller.rateKey);
  expect(rateKey).not.toContain(HASH);
});

const PAIR =
  'must be tenant=SHA-256, the hash of a key in 64 hex digits, for example acme=5e88…; `recourse key` creates one';
const TENANT = 'must be for a tenant of 1 to 64 letters, digits, _ . and -, and not for `anonymous`, which is reserved';
const WORD = 'has an unknown attribute; allowed after the hash: name=, tools=, may=, rate= and expires=';
const NAME = 'has an invalid name=; use 1 to 64 letters, digits, _ . and -';
const TOOLS = 'has an empty tools=; separate names and prefixes such as github_* by |';
const MAY = 'has an invalid may=; separate call, read, reset, operate and approve by |, each at most once';
const RATE = 'has an invalid rate=; write requests per second, minute or hour, for example 600/m';
const EXPIRES = 'has an invalid expires=; write 2027-06-30 or 2027-06-30T12:00:00Z';

test.for([
  ['', PAIR],
  ['rcs_secret', PAIR],
  ['acme', PAIR],
  ['acme=rcs_secret', PAIR],
  [`acme=${HASH}0`, PAIR],
  [`acme=${HASH.slice(1)}`, PAIR],
  [`=${HASH}`, PAIR],
  [`acme =${HASH}`, PAIR],
  [`anonymous=${HASH}`, TENANT],
  [`-x=${HASH}`, TENANT],
  [`a:b=${HASH}`, TENANT],
  [`${'a'.repeat(65)}=${HASH}`, TENANT],
  [`caf\u00e9=${HASH}`, TENANT],
  [`acme=${HASH} rcs_secret`, WORD],
  [`acme=${HASH} admin=yes`, WORD],
  [`acme=${HASH} =x`, WORD],
  [`acme=${HASH} Name=x`, WORD],
  [`acme=${HASH} name=a name=b`, 'has name= twice; remove one'],
  [`acme=${HASH} may=call tools=x may=read`, 'has may= twice; remove one'],
  [`acme=${HASH} name=`, NAME],
  [`acme=${HASH} name=a/b`, NAME],
  [`acme=${HASH} tools=`, TOOLS],
  [`acme=${HASH} tools=a||b`, TOOLS],
  [`acme=${HASH} tools=*_a`, TOOLS],
  [`acme=${HASH} may=`, MAY],
  [`acme=${HASH} may=call|write`, MAY],
  [`acme=${HASH} may=call|call`, MAY],
  [`acme=${HASH} may=all`, MAY],
  [`acme=${HASH} may=operate|operate`, MAY],
  [`acme=${HASH} may=Operate`, MAY],
  [`acme=${HASH} rate=600`, RATE],
  [`acme=${HASH} rate=0/m`, RATE],
  [`acme=${HASH} expires=`, EXPIRES],
  [`acme=${HASH} expires=soon`, EXPIRES],
  [`acme=${HASH} expires=2027-02-30`, EXPIRES],
  [`acme=${HASH} expires=2027-13-01`, EXPIRES],
  [`acme=${HASH} expires=2027-06-30T12:00:00`, EXPIRES],
  [`acme=${HASH} expires=2027-06-30T12:00:00+02:00`, EXPIRES],
  [`acme=${HASH} expires=1814313600`, EXPIRES],
] as const)('%j is refused with what to do, and not repeated', ([entry, mistake]) => {
  expect(findKeyMistake(entry)).toBe(mistake);
  expect(mistake).not.toContain('secret');
});

test('every mistake of a file is listed with its line, and those of the entries with their place', () => {
  const fileText = `\ufeff# keys\r\n\r\nacme=${HASH} may=call\r\nsecret\r\n  acme=${OTHER} rate=fast\n\nbeta=${HASH.toUpperCase()}\n`;
  const { keys, mistakes } = loadApiKeys({ entries: [`gamma=${OTHER}`, 'x'], fileText });
  expect(mistakes).toEqual([
    `entry 2 of API_KEYS ${PAIR}`,
    `line 4 ${PAIR}`,
    `line 5 ${RATE}`,
    'line 7 repeats the key of line 3; remove one',
  ]);
  expect(keys.map(({ caller }) => caller.tenant)).toEqual(['gamma', 'acme']);
});

test('one key at two places is a mistake, also across the setting and the file', () => {
  const { mistakes } = loadApiKeys({ entries: [`a=${HASH}`, `b=${HASH}`], fileText: `a=${HASH}` });
  expect(mistakes).toEqual([
    'entry 2 of API_KEYS repeats the key of entry 1 of API_KEYS; remove one',
    'line 1 repeats the key of entry 1 of API_KEYS; remove one',
  ]);
});
