// Loaded by `--import` into a service: at each SIGUSR2 writes a line into its log with the bytes that were ever allocated, and those that
// came to V8's old generation, by which it grew from one look to the next.
import { getHeapSpaceStatistics, getHeapStatistics } from 'node:v8';

const LOOK_MS = 200;

const readOld = (): number =>
  getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space')?.space_used_size ?? 0;

let last = readOld();
let old = 0;
const look = (): void => {
  const now = readOld();
  old += Math.max(0, now - last);
  last = now;
};
setInterval(look, LOOK_MS).unref();

let asked = 0;
process.on('SIGUSR2', () => {
  asked += 1;
  const bytes = getHeapStatistics().total_allocated_bytes;
  look();
  process.stdout.write(`${JSON.stringify({ msg: `allocated ${asked}`, bytes, old })}\n`);
});
