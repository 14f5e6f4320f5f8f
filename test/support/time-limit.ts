/** How many times slower than a quiet machine this one is, by scripts/measure-machine.ts: 1 to 4. */
const FACTOR = Number(process.env['TEST_TIME_FACTOR'] ?? 1);

/** A time limit of a test in whole milliseconds, given for a quiet machine. */
// Rounded: 170,000 × 1.1 is no whole number, and Node takes no other for the time of a process.
export const timeLimit = (quietMs: number): number => Math.round(quietMs * FACTOR);
