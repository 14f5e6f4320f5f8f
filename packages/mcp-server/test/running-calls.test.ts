import { expect, test } from 'vitest';
import { createRunningCalls } from '#src/call-batch.ts';

test('a call can be cancelled by its session and id while it runs, and nothing of it is kept afterwards', () => {
  const running = createRunningCalls();
  const [first, second] = [new AbortController(), new AbortController()];
  const forget = running.add({ sessionKey: 'a', requestId: 1 }, () => first.abort());
  const forgetSecond = running.add({ sessionKey: 'a', requestId: '1' }, () => second.abort());
  expect(running.size()).toBe(2);

  for (const sessionKey of ['b', '']) running.cancel({ sessionKey, requestId: 1 });
  running.cancel({ sessionKey: 'a', requestId: 2 });
  expect(first.signal.aborted).toBe(false);
  running.cancel({ sessionKey: 'a', requestId: 1 });
  expect(first.signal.aborted).toBe(true);
  expect(second.signal.aborted).toBe(false);
  forget();
  forgetSecond();
  expect(running.size()).toBe(0);
});

test('where a client gives one id twice, the end of the earlier call leaves the later one to be cancelled', () => {
  const running = createRunningCalls();
  const [earlier, later] = [new AbortController(), new AbortController()];
  const name = { sessionKey: 'a', requestId: 1 };
  const forgetEarlier = running.add(name, () => earlier.abort());
  const forgetLater = running.add(name, () => later.abort());

  forgetEarlier();
  running.cancel(name);
  expect(later.signal.aborted).toBe(true);
  forgetLater();
  expect(running.size()).toBe(0);
});
