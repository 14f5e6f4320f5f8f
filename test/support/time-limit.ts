/** How many times slower than a quiet machine this one is, by scripts/measure-machine.ts: 1 to 4. */
const FACTOR = Number(process.env['TEST_TIME_FACTOR'] ?? 1);

/** A time limit of a test in milliseconds, given for a quiet machine. */
export const timeLimit = (quietMs: number): number => quietMs * FACTOR;
