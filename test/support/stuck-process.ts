import { existsSync } from 'node:fs';
import { Worker } from 'bullmq';

// A worker as the service starts it, whose queue does not answer any more while there is a file STUCK_BY: what asks it for a job
// waits and waits. At each SIGUSR2 its clock goes on by 40 s, so that a test need not wait for what takes a
// minute; and what it does every few seconds it does ten times a second.

const STEP_MS = 40_000;
const RARE_MS = 5000;
const OFTEN_MS = 100;

const stuckBy = process.env['STUCK_BY'] ?? '';
const ask: unknown = Reflect.get(Worker.prototype, '_getNextJob');
if (typeof ask !== 'function') throw new Error('A worker of BullMQ has no method _getNextJob.');
Reflect.set(Worker.prototype, '_getNextJob', async function (this: unknown, ...words: readonly unknown[]) {
  if (existsSync(stuckBy)) await new Promise(() => undefined);
  return Reflect.apply(ask, this, words);
});

const start = performance.now.bind(performance);
let steps = 0;
performance.now = () => start() + steps * STEP_MS;
process.on('SIGUSR2', () => {
  steps += 1;
});

const repeat = globalThis.setInterval;
const repeatOften = (act: () => void, everyMs: number): NodeJS.Timeout =>
  repeat(act, everyMs >= RARE_MS ? OFTEN_MS : everyMs);
Reflect.set(globalThis, 'setInterval', repeatOften);

await import('#src/main.ts');
