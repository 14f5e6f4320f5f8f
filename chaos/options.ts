import { parseArgs } from 'node:util';

export type Options = {
  /** Length of the load, in seconds. Start and end come on top of it. */
  readonly seconds: number;
  /** Batches a second, over both replicas. */
  readonly rate: number;
  /** Repeats the choice of batches; what comes of them depends on the machine, too. */
  readonly seed: number;
  /** Processor priority of everything that is started: 0 as usual, 19 after everybody else. */
  readonly niceness: number;
  /** Where the report goes beside stdout. */
  readonly record: 'results.md' | 'nowhere';
};

const USAGE = 'Usage: npm run chaos -- [--seconds 300] [--rate 80] [--seed N] [--nice 0] [--record]';
// So short that no fault would fall into it.
const LEAST_SECONDS = 10;

/** Reads the command line; throws an error that says how it is used. */
export const loadOptions = (words: readonly string[]): Options => {
  const { values } = parseArgs({
    args: [...words],
    options: {
      seconds: { type: 'string', default: '300' },
      rate: { type: 'string', default: '80' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      nice: { type: 'string', default: '0' },
      record: { type: 'boolean', default: false },
    },
  });
  return {
    seconds: toWhole('--seconds', values.seconds, LEAST_SECONDS, 86_400),
    rate: toWhole('--rate', values.rate, 1, 10_000),
    seed: toWhole('--seed', values.seed, 0, 4_294_967_295),
    niceness: toWhole('--nice', values.nice, 0, 19),
    record: values.record ? 'results.md' : 'nowhere',
  };
};

const toWhole = (name: string, text: string, least: number, most: number): number => {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= least && value <= most) return value;
  throw new Error(`${name} must be a whole number from ${least} to ${most}, got '${text}'.\n${USAGE}`);
};
