import { parseArgs } from 'node:util';

/** What can be measured, by name. `main` is what `npm run bench` measures. */
export const PARTS = [
  'main',
  'growth',
  'sessions',
  'sqlite',
  'telemetry',
  'formats',
  'mcp',
  'upstream',
  'overload',
  'kill',
  'notes',
  'files',
  'memory',
  'pending',
] as const;
export type PartName = (typeof PARTS)[number];

export type Options = {
  /** Slices of each lane. */
  readonly rounds: number;
  /** Before any slice of a lane counts. */
  readonly warmUpSeconds: number;
  /** In the order of PARTS. */
  readonly parts: readonly PartName[];
  /** Whether everything takes as long as results that are kept need. */
  readonly isWhole: boolean;
};

const ROUNDS = 40;
const WARM_UP_SECONDS = 5;
const USAGE = `Usage: npm run bench -- [--only ${PARTS.join(',')}] [--rounds ${ROUNDS}] [--warm-up ${WARM_UP_SECONDS}]`;

/** Reads the command line; throws an error that says how it is used. */
export const loadOptions = (words: readonly string[]): Options => {
  const { values } = parseArgs({
    args: [...words],
    options: {
      rounds: { type: 'string', default: String(ROUNDS) },
      'warm-up': { type: 'string', default: String(WARM_UP_SECONDS) },
      only: { type: 'string', default: 'main' },
    },
  });
  const rounds = wholeFrom('--rounds', values.rounds, 1000);
  const warmUpSeconds = wholeFrom('--warm-up', values['warm-up'], 60);
  return {
    rounds,
    warmUpSeconds,
    parts: toParts(values.only),
    isWhole: rounds >= ROUNDS && warmUpSeconds >= WARM_UP_SECONDS,
  };
};

const wholeFrom = (name: string, text: string, most: number): number => {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1 && value <= most) return value;
  throw new Error(`${name} must be a whole number from 1 to ${most}, got '${text}'.\n${USAGE}`);
};

const toParts = (text: string): readonly PartName[] => {
  const asked = new Set(text.split(',').map((word) => word.trim()));
  const unknown = [...asked].filter((word) => !PARTS.some((part) => part === word));
  if (unknown.length > 0) throw new Error(`--only does not know '${unknown.join("', '")}'.\n${USAGE}`);
  return PARTS.filter((part) => asked.has(part));
};
