import { expect, test } from 'vitest';
import { becomeShared, type Caller, countLetIn, createSubject, freshCaller, type Lab, startLab } from './rate-lab.ts';

// A Redis that cannot be asked refuses nobody, fails nothing, and costs little.

type Act = (lab: Lab) => unknown;

const keysOf = ({ direct }: Lab): Promise<readonly string[]> => direct.keys('recourse2:rate:*');

const FAULTS: readonly (readonly [name: string, begin: Act, end: Act])[] = [
  ['killed', ({ server }) => server.kill(), ({ server }) => server.restart()],
  ['stopped (SIGSTOP)', ({ server }) => server.pause(), ({ server }) => server.resume()],
  ['cut off', ({ proxy }) => [proxy.refuse(), proxy.cut()], ({ proxy }) => proxy.accept()],
  ['behind a frozen network', ({ proxy }) => proxy.freeze(), ({ proxy }) => proxy.thaw()],
  ['behind a network that loses everything', ({ proxy }) => proxy.drop(), ({ proxy }) => proxy.deliver()],
  ['behind a slow network', ({ proxy }) => proxy.delay(900), ({ proxy }) => proxy.delay(0)],
  [
    'out of memory',
    ({ direct }) => direct.config('SET', 'maxmemory', '1'),
    ({ direct }) => direct.config('SET', 'maxmemory', '0'),
  ],
  ['a replica by now', ({ direct }) => direct.replicaof('127.0.0.1', 1), ({ direct }) => direct.replicaof('NO', 'ONE')],
  [
    'without the right to scripts',
    ({ direct }) => direct.acl('SETUSER', 'default', '-eval'),
    ({ direct }) => direct.acl('SETUSER', 'default', '+eval'),
  ],
  [
    'without the right to count',
    ({ direct }) => direct.acl('SETUSER', 'default', '-incrby'),
    ({ direct }) => direct.acl('SETUSER', 'default', '+incrby'),
  ],
];

test.each(FAULTS)(
  'Redis %s: each process lets in the full rate, and Redis counts again after it',
  async (_name, begin, end) => {
    const lab = await startLab(500);
    await becomeShared(lab);
    await begin(lab);
    // Those that ask Redis in vain, and those that do not ask it.
    expect(await countLetIn(lab.limit, freshCaller(30), 40)).toBe(30);
    const caller = freshCaller(7);
    expect(await countLetIn(lab.limit, caller, 20)).toBe(7);
    // Refused because it has sent too many, and told so like anyone else.
    expect((await lab.limit(caller, ''))?.retryAfterMs).toBeGreaterThan(3_000_000);
    expect(lab.errors.length).toBeGreaterThan(30);
    await end(lab);
    await becomeShared(lab);
    expect(await countLetIn(lab.limit, freshCaller(7), 20)).toBe(7);
  },
);

test.each<readonly [string, (lab: Lab, key: string) => Promise<unknown>]>([
  ['is no number', ({ direct }, key) => direct.set(key, 'abc')],
  ['is a list', ({ direct }, key) => direct.multi().del(key).rpush(key, 'x').exec()],
])('a count in Redis that %s is counted here', async (_what, damage) => {
  const lab = await startLab();
  const caller: Caller = freshCaller(5);
  expect(await countLetIn(lab.limit, caller, 1)).toBe(1);
  const [key = ''] = await keysOf(lab);
  await damage(lab, key);
  expect(await countLetIn(lab.limit, caller, 10)).toBe(5);
  expect(lab.errors.length).toBeGreaterThan(0);
});

test('a count that was kept without an end gets one', async () => {
  const lab = await startLab();
  const caller = freshCaller(5, 60_000);
  await countLetIn(lab.limit, caller, 1);
  const [key = ''] = await keysOf(lab);
  await lab.direct.persist(key);
  await countLetIn(lab.limit, caller, 1);
  expect(await lab.direct.pttl(key)).toBeGreaterThan(0);
});

test('a caller that is over its rate costs no command until its window ends', async () => {
  const lab = await startLab();
  const caller = freshCaller(3);
  await countLetIn(lab.limit, caller, 4);
  const before = lab.asked();
  expect(await countLetIn(lab.limit, caller, 1000)).toBe(0);
  expect(lab.asked()).toBe(before);
});

test('Redis keeps one key a caller that ends with the window, and nothing of who it is', async () => {
  const lab = await startLab();
  const caller = freshCaller(5, 60_000);
  await countLetIn(lab.limit, caller, 3);
  await lab.limit({ tenant: 'anonymous', rateKey: null, rate: { requests: 5, windowMs: 1000 } }, '192.0.2.1');
  const keys = await keysOf(lab);
  expect(keys).toHaveLength(2);
  for (const key of keys) {
    expect(key).toMatch(/^recourse2:rate:\{[A-Za-z0-9_-]{43}\}$/);
    const left = await lab.direct.pttl(key);
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThanOrEqual(60_000);
  }
  expect(await lab.direct.dbsize()).toBe(2);
});

test('what cannot be counted at all is let in', async () => {
  const { limit, errors } = createSubject();
  expect(await limit({ tenant: 'acme', rateKey: 'x', rate: { requests: Number.NaN, windowMs: 1000 } }, '')).toBeNull();
  expect(errors).toHaveLength(1);
});
