import { expect, test } from 'vitest';
import { createHostEnvironment } from '#src/host-environment.ts';

const environment = {
  PATH: '/bin',
  HOME: '/home/a',
  TZ: 'UTC',
  LANG: 'C',
  NODE_EXTRA_CA_CERTS: '/ca',
  NODE_COMPILE_CACHE: '/cache',
  NODE_OPTIONS: '--inspect',
  REDIS_URL: 'redis://:secret@host',
  API_KEYS: 'acme=1',
  SHARED: 's',
  GITHUB_TOKEN: 'g',
  GITHUB: 'h',
  EMPTY: '',
};

test('a host gets nothing that it was not given by name', () => {
  expect(createHostEnvironment([], { environment, shared: [], allowed: [] })).toEqual({
    PATH: '/bin',
    HOME: '/home/a',
    TZ: 'UTC',
    LANG: 'C',
    NODE_EXTRA_CA_CERTS: '/ca',
    NODE_COMPILE_CACHE: '/cache',
  });
});

/** What a host gets beside what all get. */
const given = (asked: readonly string[], shared: readonly string[], allowed: readonly string[]) =>
  Object.keys(createHostEnvironment(asked, { environment, shared, allowed })).slice(6);

test('what TOOLS_ENV names goes to every host, where it is set', () => {
  expect(given([], ['SHARED', 'MISSING', 'EMPTY'], [])).toEqual(['SHARED', 'EMPTY']);
});

test('what a tool asks for it gets only where TOOLS_ENV_ALLOW matches', () => {
  expect(given(['GITHUB_TOKEN', 'REDIS_URL'], [], [])).toEqual([]);
  expect(given(['GITHUB_TOKEN', 'REDIS_URL'], [], ['GITHUB_TOKEN'])).toEqual(['GITHUB_TOKEN']);
  expect(given(['GITHUB_TOKEN', 'GITHUB', 'REDIS_URL'], [], ['GITHUB_*'])).toEqual(['GITHUB_TOKEN']);
  expect(given(['GITHUB_TOKEN', 'GITHUB'], [], ['*'])).toEqual(['GITHUB_TOKEN', 'GITHUB']);
});

test('what is allowed and not asked for stays with the service', () => {
  expect(given([], [], ['GITHUB_*', 'REDIS_URL'])).toEqual([]);
});

test('a name that every object has is not taken for a variable', () => {
  expect(given(['constructor', 'toString', '__proto__'], ['hasOwnProperty'], ['*'])).toEqual([]);
});
