import { mkdirSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { RECOVERY } from '@recourse/test-support/counting-service.ts';
import {
  keyOfSession,
  type OutageService,
  type OutageTerms,
  startOutageService,
} from '@recourse/test-support/outage-service.ts';
import { connectToRedis } from '@recourse/test-support/session-stores-under-test.ts';
import { expect, test } from 'vitest';

// Redis that answers, and answers that it will not: it is away like one that is silent.

type Act = (lab: OutageService) => Promise<unknown>;
type Refusal = {
  /** The first word of what Redis answers. */
  readonly word: string;
  /** As the counter names it. */
  readonly reason: string;
  readonly begin: Act;
  readonly end: Act;
  readonly terms?: OutageTerms;
};

const directoryOf = async ({ direct }: OutageService): Promise<string> => {
  const [, directory] = (await direct.config('GET', 'dir')) as readonly string[];
  return directory ?? '';
};

const SESSION = 'refused';
/** What the session's key is. */
const REFUSALS: readonly Refusal[] = [
  {
    word: 'OOM',
    reason: 'oom',
    begin: ({ direct }) => direct.config('SET', 'maxmemory', '1'),
    end: ({ direct }) => direct.config('SET', 'maxmemory', '0'),
  },
  {
    word: 'READONLY',
    reason: 'readonly',
    begin: ({ direct }) => direct.replicaof('127.0.0.1', 1),
    end: ({ direct }) => direct.replicaof('NO', 'ONE'),
  },
  {
    word: 'LOADING',
    reason: 'loading',
    terms: { settings: ['--enable-debug-command', 'yes'] },
    // A data set that takes some seconds to read, and other clients are answered meanwhile.
    begin: async ({ direct }) => {
      await direct.eval("for i = 1, 20000 do redis.call('SET', 'filler:' .. i, i) end", 0);
      await direct.config('SET', 'key-load-delay', '200', 'loading-process-events-interval-bytes', '1024');
      void direct.call('DEBUG', 'RELOAD').catch(String);
    },
    end: async () => undefined,
  },
  {
    word: 'BUSY',
    reason: 'busy',
    terms: { settings: ['--busy-reply-threshold', '1'] },
    begin: async ({ server }) => {
      const busy = await connectToRedis(server.url);
      // It ends by being killed.
      void busy
        .eval('while true do end', 0)
        .catch(String)
        .then(() => busy.disconnect());
    },
    end: ({ direct }) => direct.script('KILL'),
  },
  {
    word: 'MISCONF',
    reason: 'misconf',
    begin: async (lab) => {
      mkdirSync(join(await directoryOf(lab), 'dump.rdb'));
      await lab.direct.config('SET', 'save', '3600 1');
      await lab.direct.bgsave();
      await expect.poll(() => lab.direct.set('x', '1').catch(String), RECOVERY).toMatch('MISCONF');
    },
    end: async (lab) => {
      rmdirSync(join(await directoryOf(lab), 'dump.rdb'));
      await lab.direct.bgsave();
    },
  },
  {
    word: 'NOPERM',
    reason: 'noperm',
    begin: ({ direct }) => direct.acl('SETUSER', 'default', '-eval', '-evalsha'),
    end: ({ direct }) => direct.acl('SETUSER', 'default', '+eval', '+evalsha'),
  },
  {
    word: 'WRONGPASS',
    reason: 'wrongpass',
    terms: {
      credentials: 'recourse:right@',
      before: async ({ direct }) => void (await direct.acl('SETUSER', 'recourse', 'on', '>right', '~*', '&*', '+@all')),
    },
    begin: async ({ direct, proxy }) => {
      await direct.acl('SETUSER', 'recourse', '<right', '>another');
      proxy.cut();
    },
    end: ({ direct }) => direct.acl('SETUSER', 'recourse', '>right'),
  },
  {
    word: 'MASTERDOWN',
    reason: 'masterdown',
    begin: async ({ direct }) => {
      await direct.config('SET', 'replica-serve-stale-data', 'no');
      await direct.replicaof('127.0.0.1', 1);
    },
    end: ({ direct }) => direct.replicaof('NO', 'ONE'),
  },
  {
    word: 'NOREPLICAS',
    reason: 'noreplicas',
    begin: ({ direct }) => direct.config('SET', 'min-replicas-to-write', '1'),
    end: ({ direct }) => direct.config('SET', 'min-replicas-to-write', '0'),
  },
];

test.each(REFUSALS)(
  '$word: counted here, counted by reason, told once, and over when Redis serves again',
  async ({ reason, begin, end, terms }) => {
    const lab = await startOutageService(terms);
    await lab.served(SESSION);
    const errors = async (): Promise<number> => (await lab.errors())[reason] ?? 0;
    const told = (message: string) => lab.service.logLines().filter(({ msg }) => msg === message);
    const statesBefore = told('session store availability changed').length;

    await begin(lab);
    const here = await lab.fail(SESSION);
    // From where the session was seen last: it had failed.
    expect(here).toMatchObject({ outcome: 'retry', retry: { mode: 'local' } });
    expect(here.retry?.used).toBeGreaterThan(0);
    const again = async (): Promise<number> => {
      const result = await lab.fail(SESSION);
      expect(result.retry?.mode).toBe('local');
      return errors();
    };
    // A store that is away is asked again once a second, and refuses again.
    const seen = await errors();
    await expect.poll(again, RECOVERY).toBeGreaterThan(seen + 1);
    expect(told('session store failed').filter((line) => line['reason'] === reason)).toHaveLength(1);
    expect(told('session store availability changed').slice(statesBefore)).toMatchObject([{ state: 'down' }]);
    expect(await lab.readiness()).toMatchObject({ status: 200, body: { status: 'degraded' } });

    await end(lab);
    await lab.served(SESSION);
    expect(await lab.readiness()).toMatchObject({ status: 200, body: { status: 'ready' } });
  },
);

test('WRONGTYPE: a key that is no record is none, and its session begins anew', async () => {
  const lab = await startOutageService();
  await lab.served(SESSION);
  const key = keyOfSession(SESSION);
  await lab.direct.del(key);
  await lab.direct.set(key, 'x');
  expect(await lab.fail(SESSION)).toMatchObject({ retry: { mode: 'redis', used: 0 } });
  expect(Object.keys(await lab.errors())).not.toContain('wrongtype');
  expect(await lab.readiness()).toMatchObject({ status: 200, body: { status: 'ready' } });
  expect(await lab.served('another')).toMatchObject({ retry: { mode: 'redis' } });
  await lab.direct.del(key);
  expect(await lab.served(SESSION)).toMatchObject({ retry: { mode: 'redis' } });
});
