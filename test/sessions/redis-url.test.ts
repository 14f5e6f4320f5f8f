import { expect, test } from 'vitest';
import { parseSentinelUrl, splitRedisUrl } from '#src/sessions/redis-url.ts';

const A = { host: 'a', port: 26_379 };
const BARE = { tls: false, sentinels: [A], name: 'mymaster', db: 0, username: undefined, password: undefined };

test.each([
  ['redis+sentinel://a/mymaster', {}],
  [' redis+sentinel://a/mymaster/ ', {}],
  ['rediss+sentinel://a:26379/mymaster/12', { tls: true, db: 12 }],
  [
    'redis+sentinel://a,b.c:7000, [::1]:1/my.master-1_x',
    {
      name: 'my.master-1_x',
      sentinels: [A, { host: 'b.c', port: 7000 }, { host: '::1', port: 1 }],
    },
  ],
  ['redis+sentinel://[fe80::1]/mymaster', { sentinels: [{ host: 'fe80::1', port: 26_379 }] }],
  ['redis+sentinel://us%3Aer:p%40s%2Fs%25@a/mymaster', { username: 'us:er', password: 'p@s/s%' }],
  ['redis+sentinel://:a,b@c/d:@a/mymaster', { password: 'a,b@c/d:' }],
])('%s is read', (url, rest) => {
  expect(parseSentinelUrl(url)).toEqual({ ...BARE, ...rest });
});

test.each([
  'redis+sentinel://',
  'redis+sentinel:///mymaster',
  'redis+sentinel://a',
  'redis+sentinel://a/',
  'redis+sentinel://a,,b/m',
  'redis+sentinel://a,b:99999/m',
  'redis+sentinel://a:0/m',
  'redis+sentinel://::1/m',
  'redis+sentinel://a/m/x',
  'redis+sentinel://a/m/-1',
  'redis+sentinel://a/m/1/2',
  'redis+sentinel://a/m?db=1',
  'redis+sentinel://a/m,redis+sentinel://b/m',
  'redis+sentinel://secret@a/m',
  'redis+sentinel://user:@a/m',
  'redis+sentinel://:100%@a/m',
])('%s is refused', (url) => {
  expect(parseSentinelUrl(url)).toBeNull();
});

test('commas separate the nodes of a cluster, and not Sentinels', () => {
  expect(splitRedisUrl('redis://a, redis://b')).toEqual(['redis://a', 'redis://b']);
  expect(splitRedisUrl('redis+sentinel://:p,w@a,b/m')).toEqual(['redis+sentinel://:p,w@a,b/m']);
});
