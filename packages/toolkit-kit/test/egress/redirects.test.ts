import { expect, test } from 'vitest';
import { decideNextHop, type Hop } from '#src/egress/redirects.ts';

const hopTo = (url: string, headers: Readonly<Record<string, string>> = {}): Hop => ({ url: new URL(url), headers });

const HEADERS = {
  accept: 'text/*',
  'User-Agent': 'test',
  Authorization: 'Bearer secret',
  cookie: 'id=1',
  'x-api-key': 'secret',
};

test('headers stay with a redirect inside the origin', () => {
  expect(decideNextHop([hopTo('https://a.test/x', HEADERS)], '/y', 'web')).toEqual(hopTo('https://a.test/y', HEADERS));
});

test.each([
  ['another host', 'https://b.test/'],
  ['a host below', 'https://api.a.test/'],
  ['another port', 'https://a.test:8443/'],
])('only harmless headers go to %s', (_, location) => {
  expect(decideNextHop([hopTo('https://a.test/x', HEADERS)], location, 'web').headers).toEqual({
    accept: 'text/*',
    'User-Agent': 'test',
  });
});

test('going on to https is another origin', () => {
  expect(decideNextHop([hopTo('http://a.test/x', { cookie: 'id=1' })], 'https://a.test/x', 'web').headers).toEqual({});
});

test('credentials do not come back when a redirect returns to the first origin', () => {
  const first = hopTo('https://a.test/x', HEADERS);
  const second = decideNextHop([first], 'https://b.test/', 'web');
  expect(decideNextHop([first, second], 'https://a.test/back', 'web').headers).toEqual({
    accept: 'text/*',
    'User-Agent': 'test',
  });
});

test('a redirect from https to http is refused, also inside one host', () => {
  expect(() => decideNextHop([hopTo('https://a.test/x')], 'http://a.test/x', 'web')).toThrow(
    "URL 'https://a.test/x' redirects from https to http, to 'http://a.test/x'. Try a different URL.",
  );
});

test('a redirect to a port of another protocol is refused unless any port will do', () => {
  expect(() => decideNextHop([hopTo('http://a.test/')], 'http://a.test:22/', 'web')).toThrow(
    "URL 'http://a.test/' redirects to 'http://a.test:22/': port 22 is not allowed (only 80, 443, and 1024 or above). Try a different URL.",
  );
  expect(decideNextHop([hopTo('http://a.test/')], 'http://a.test:22/', 'any').url.href).toBe('http://a.test:22/');
});
