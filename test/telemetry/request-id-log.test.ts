import { startService } from '@recourse/test-support/start-service.ts';
import { expect, onTestFinished, test } from 'vitest';

test('an X-Request-Id that cannot be used is in the log beside the one that its request has; at most one line in ten seconds', async () => {
  const service = await startService();
  onTestFinished(service.stop);
  const ask = async (id: string): Promise<string> => {
    const answer = await fetch(`${service.url}/tools`, { headers: { 'x-request-id': id } });
    return answer.headers.get('x-request-id') ?? '';
  };
  expect(await ask('a-request-of-the-caller')).toBe('a-request-of-the-caller');
  const made = await ask(`abc.${'1'.repeat(90)}`);
  await ask('short');
  const lines = service.logLines().filter(({ msg }) => String(msg).startsWith('X-Request-Id'));
  expect(lines).toMatchObject([
    {
      level: 30,
      request_id: made,
      given: `abc.${'1'.repeat(60)}`,
      msg: 'X-Request-Id not used: it must have 16 to 64 of A-Z a-z 0-9 _ -',
    },
  ]);
});
