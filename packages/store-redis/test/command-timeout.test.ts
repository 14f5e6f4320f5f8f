import { expect, test } from 'vitest';
import { CommandTimeout } from '#src/command-timeout.ts';

const block = (ms: number): void => {
  const until = performance.now() + ms;
  while (performance.now() < until) Math.sqrt(until);
};

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

test('what comes to its end while the answers to older commands are read is not given up with them', async () => {
  const timeout = new CommandTimeout(50);
  const older = timeout.wait(new Promise(() => undefined)).catch(String);
  timeout.begin(performance.now());
  const { promise, resolve } = Promise.withResolvers<string>();
  setTimeout(() => {
    block(40);
    setImmediate(() => resolve('answered'));
  }, 50);
  await sleep(20);
  const younger = timeout.wait(promise);
  timeout.begin(performance.now());
  expect(await older).toBe('Error: Command timed out');
  expect(await younger).toBe('answered');
});

test('what is not written yet is waited for as long as that takes', async () => {
  const timeout = new CommandTimeout(20);
  const written = timeout.wait(new Promise(() => undefined)).catch(String);
  timeout.begin(performance.now());
  const { promise, resolve } = Promise.withResolvers<string>();
  const unwritten = timeout.wait(promise);
  expect(await written).toBe('Error: Command timed out');
  await sleep(40);
  timeout.begin(performance.now());
  resolve('answered');
  expect(await unwritten).toBe('answered');
});

test('an error of the answer is that of the wait', async () => {
  const timeout = new CommandTimeout(20);
  const waiting = timeout.wait(Promise.reject(new Error('WRONGTYPE')));
  timeout.begin(performance.now());
  await expect(waiting).rejects.toThrow('WRONGTYPE');
});

test('what waits for a command that is on its way has its own time, also when nothing else waits any more', async () => {
  const timeout = new CommandTimeout(20);
  const sent = timeout.wait(new Promise(() => undefined)).catch(String);
  timeout.begin(performance.now());
  expect(await sent).toBe('Error: Command timed out');
  const gaveUp = new Promise((giveUp) => timeout.add({ previous: null, next: null, since: performance.now(), giveUp }));
  expect(String(await gaveUp)).toBe('Error: Command timed out');
});
