import { expect, onTestFinished, test, vi } from 'vitest';
import { createRecourse, type RecourseOptions } from '../../../clients/typescript/src/client.ts';

/** How long `execute` tries in vain to connect, by the clock, and how often. */
const tryInVain = async (options: Partial<RecourseOptions>) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  let attempts = 0;
  const refusing = async (): Promise<Response> => {
    attempts += 1;
    throw new TypeError('fetch failed', { cause: Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }) });
  };
  const startedAt = performance.now();
  const recourse = createRecourse({ url: 'http://127.0.0.1:9', fetch: refusing, ...options });
  const failing = recourse.execute([{ name: 'echo' }]).catch(() => performance.now() - startedAt);
  await vi.advanceTimersByTimeAsync(600_000);
  return { waitedMs: await failing, attempts };
};

test('a service that was never reached is given up after ten seconds at the latest, not after three minutes', async () => {
  const { waitedMs, attempts } = await tryInVain({});
  expect(waitedMs).toBeLessThanOrEqual(10_000);
  // The longest wait is 5 s: one that would pass the end is not begun.
  expect(waitedMs).toBeGreaterThanOrEqual(5_000);
  expect(attempts).toBeGreaterThanOrEqual(5);
});

test('who starts the service at the same time can have it waited for longer', async () => {
  const { waitedMs } = await tryInVain({ connectTimeoutMs: 60_000 });
  expect(waitedMs).toBeGreaterThanOrEqual(55_000);
  expect(waitedMs).toBeLessThanOrEqual(60_000);
});

test('a time that no timer can hold is waited for, and is not over at once', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  let attempts = 0;
  const busy = async (): Promise<Response> => {
    attempts += 1;
    return new Response('', { status: 503, headers: { 'retry-after': 'Fri, 31 Dec 9999 23:59:59 GMT' } });
  };
  const controller = new AbortController();
  const recourse = createRecourse({ url: 'http://127.0.0.1:9', fetch: busy, timeoutMs: Number.POSITIVE_INFINITY });
  const running = recourse.execute([{ name: 'echo' }], { signal: controller.signal }).catch(() => 'over');
  await vi.advanceTimersByTimeAsync(86_400_000);
  expect(attempts).toBe(1);
  controller.abort();
  expect(await running).toBe('over');
});
