import { RECOVERY } from '@recourse/test-support/counting-service.ts';
import { type OutageTerms, startOutageService } from '@recourse/test-support/outage-service.ts';
import { expect, test } from 'vitest';

// Redis that lets the service in, and lets it do nothing there.

/** A service whose user in Redis has these rights. */
const withRights = (...rights: readonly string[]): OutageTerms => ({
  credentials: 'recourse:secret@',
  before: async ({ direct }) => void (await direct.acl('SETUSER', 'recourse', 'on', '>secret', ...rights)),
});

const RIGHTS = [
  ['no right to run scripts', ['~*', '&*', '+@all', '-eval', '-evalsha']],
  ['no right to its keys', ['~other:*', '&*', '+@all']],
  ['no right to write', ['%R~*', '&*', '+@all']],
] as const;

test.each(RIGHTS)('%s: said at start-up before any batch, and the service serves by itself', async (_name, rights) => {
  const lab = await startOutageService(withRights(...rights));
  const told = () => lab.service.logLines().filter(({ msg }) => msg === 'session store failed');
  // Whatever asked first says it: there is one line per ten seconds and reason.
  await expect.poll(told, RECOVERY).toContainEqual(expect.objectContaining({ level: 40, reason: 'noperm' }));
  await expect
    .poll(lab.readiness, RECOVERY)
    .toMatchObject({ status: 200, body: { status: 'degraded', store: { status: 'down' } } });
  expect(await lab.fail('a')).toMatchObject({ outcome: 'retry', retry: { mode: 'local', used: 0 } });
  expect(await lab.fail('a')).toMatchObject({ outcome: 'retry', retry: { mode: 'local', used: 1 } });
  await lab.direct.acl('SETUSER', 'recourse', '+@all', '~*');
  await expect.poll(lab.readiness, RECOVERY).toMatchObject({ body: { status: 'ready' } });
  // What was counted here is in Redis now.
  expect(await lab.served('a')).toMatchObject({ retry: { used: 2 } });
});

test('the rights to its own keys and to scripts are enough', async () => {
  const lab = await startOutageService(
    withRights(
      '%R~recourse:{kept}:lease',
      '~recourse2:*',
      '-@all',
      '+@connection',
      '+info',
      '+@scripting',
      '+@hash',
      '+@list',
      '+@string',
      '+@keyspace',
      '+time',
    ),
  );
  expect(await lab.served('a')).toMatchObject({ retry: { mode: 'redis', used: 0 } });
  expect(await lab.served('a')).toMatchObject({ retry: { mode: 'redis', used: 1 } });
  await expect.poll(() => lab.service.metric('recourse_session_store_memory_used_bytes'), RECOVERY).toBeGreaterThan(0);
  expect(await lab.errors()).not.toMatchObject({ noperm: expect.anything() });
});
