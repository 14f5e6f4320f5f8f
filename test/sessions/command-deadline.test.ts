import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createCommandDeadline } from '#src/sessions/command-deadline.ts';

const never = () => Promise.withResolvers<string>();
const timed = async (answer: Promise<string>): Promise<readonly [string, number]> => {
  const startedAt = performance.now();
  const said = await answer.catch((error: Error) => error.message);
  return [said, performance.now() - startedAt];
};

test('each command is given up after its own time, however many began before it', async () => {
  const within = createCommandDeadline(60);
  const told: Promise<readonly [string, number]>[] = [];
  for (let count = 0; count < 5; count += 1) {
    told.push(timed(within(never().promise)));
    await sleep(20);
  }
  for (const [said, ms] of await Promise.all(told)) {
    expect(said).toBe('Command timed out');
    expect(ms).toBeGreaterThanOrEqual(59);
    expect(ms).toBeLessThan(500);
  }
});

test('what is answered is not given up, nor what begins after it', async () => {
  const within = createCommandDeadline(80);
  expect(await within(Promise.resolve('first'))).toBe('first');
  await sleep(50);
  const late = Promise.withResolvers<string>();
  const second = timed(within(late.promise));
  await sleep(50);
  late.resolve('second');
  expect((await second)[0]).toBe('second');
  await expect(within(Promise.reject(new Error('refused')))).rejects.toThrow('refused');
});

test('what begins between the timer and its look is not old, however busy the event loop was', async () => {
  const within = createCommandDeadline(20);
  void timed(within(never().promise));
  const answer = Promise.withResolvers<string>();
  const told = await new Promise<string>((resolve) => {
    // After the timer of the first, in one turn with it: the second is as old as its time when the look comes.
    setTimeout(() => {
      void timed(within(answer.promise)).then(([said]) => resolve(said));
      const until = performance.now() + 40;
      while (performance.now() < until);
      setImmediate(() => answer.resolve('answered'));
    }, 20);
  });
  expect(told).toBe('answered');
});
