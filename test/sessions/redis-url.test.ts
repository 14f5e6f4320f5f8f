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
  ['redis+sentinel://', 'write the host of at least one Sentinel before the name of the master'],
  ['redis+sentinel:///mymaster', 'write the host of at least one Sentinel before the name of the master'],
  ['redis+sentinel://a', 'write the name of the master after the hosts, as in redis+sentinel://host/mymaster'],
  ['redis+sentinel://a/', 'write the name of the master after the hosts, as in redis+sentinel://host/mymaster'],
  ['redis+sentinel://a,,b/m', 'Sentinel 2 is not a host or host:port'],
  ['redis+sentinel://a,b:99999/m', 'Sentinel 2 is not a host or host:port'],
  ['redis+sentinel://a:0/m', 'Sentinel 1 is not a host or host:port'],
  ['redis+sentinel://::1/m', 'Sentinel 1 is not a host or host:port'],
  ['redis+sentinel://a/m/x', 'only the number of a database may follow the name'],
  ['redis+sentinel://a/m/-1', 'only the number of a database may follow the name'],
  ['redis+sentinel://a/m/1/2', 'only the number of a database may follow the name'],
  [
    'redis+sentinel://a/m?db=1',
    'a name of a master has letters, digits, ".", "-" and "_"; the scheme stands once, before all hosts',
  ],
  [
    'redis+sentinel://a/m,redis+sentinel://b/m',
    'a name of a master has letters, digits, ".", "-" and "_"; the scheme stands once, before all hosts',
  ],
  ['redis+sentinel://secret@a/m', 'write user:password@ or :password@ before the hosts'],
  ['redis+sentinel://user:@a/m', 'write user:password@ or :password@ before the hosts'],
  ['redis+sentinel://:100%@a/m', 'a % in a user or password is written %25'],
])('%s is refused with a word on what to write', (url, mistake) => {
  expect(parseSentinelUrl(url)).toEqual({ mistake });
});

test('commas separate the nodes of a cluster, and not Sentinels', () => {
  expect(splitRedisUrl('redis://a, redis://b')).toEqual(['redis://a', 'redis://b']);
  expect(splitRedisUrl('redis+sentinel://:p,w@a,b/m')).toEqual(['redis+sentinel://:p,w@a,b/m']);
});
