// Loaded by `--import` into a service: at each SIGUSR2 writes a line into its log with the bytes that were ever allocated.
import { getHeapStatistics } from 'node:v8';

let asked = 0;
process.on('SIGUSR2', () => {
  asked += 1;
  const bytes = getHeapStatistics().total_allocated_bytes;
  process.stdout.write(`${JSON.stringify({ msg: `allocated ${asked}`, bytes })}\n`);
});
