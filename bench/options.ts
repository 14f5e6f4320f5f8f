import { parseArgs } from 'node:util';

/** What can be measured, by name. `main` is what `npm run bench` measures. */
export const PARTS = [
  'main',
  'growth',
  'sessions',
  'sqlite',
  'telemetry',
  'formats',
  'upstream',
  'overload',
  'kill',
  'notes',
  'files',
  'memory',
  'pending',
  'sustained',
] as const;
export type PartName = (typeof PARTS)[number];

export type Options = {
  /** Slices of each lane. */
  readonly rounds: number;
  /** Before any slice of a lane counts. */
  readonly warmUpSeconds: number;
  /** In the order of PARTS. */
  readonly parts: readonly PartName[];
  /** Of each level of the part `sustained`. */
  readonly seconds: number;
  /** What becomes of the floors of the main figures: they are what figures are held against, or made of them. */
  readonly floors: 'check' | 'write' | 'none';
  /** Whether everything takes as long as results that are kept need. */
  readonly isWhole: boolean;
};

const ROUNDS = 40;
const CHECK_ROUNDS = 20;
const WARM_UP_SECONDS = 5;
const SECONDS = 300;
const USAGE = `Usage: npm run bench -- [--only ${PARTS.join(',')}] [--rounds ${ROUNDS}] [--warm-up ${WARM_UP_SECONDS}] [--seconds ${SECONDS}] [--write-floors | --check]`;

/** Reads the command line; throws an error that says how it is used. */
export const loadOptions = (words: readonly string[]): Options => {
  const { values } = parseArgs({
    args: [...words],
    options: {
      rounds: { type: 'string' },
      'warm-up': { type: 'string', default: String(WARM_UP_SECONDS) },
      seconds: { type: 'string', default: String(SECONDS) },
      only: { type: 'string', default: 'main' },
      check: { type: 'boolean', default: false },
      'write-floors': { type: 'boolean', default: false },
    },
  });
  const rounds = wholeFrom('--rounds', values.rounds ?? String(values.check ? CHECK_ROUNDS : ROUNDS), 1000);
  const warmUpSeconds = wholeFrom('--warm-up', values['warm-up'], 60);
  const seconds = wholeFrom('--seconds', values.seconds, 3600);
  const parts = toParts(values.only);
  const floors = toFloors(values.check, values['write-floors']);
  if (floors !== 'none' && parts.join() !== 'main') throw new Error(`Floors are of the part main only.\n${USAGE}`);
  const isLong = rounds >= ROUNDS && warmUpSeconds >= WARM_UP_SECONDS && seconds >= SECONDS;
  if (floors === 'write' && !isLong) throw new Error(`Floors are made of a run of full length only.\n${USAGE}`);
  return { rounds, warmUpSeconds, seconds, parts, floors, isWhole: isLong && floors !== 'check' };
};

const toFloors = (isCheck: boolean, isWrite: boolean): Options['floors'] => {
  if (isCheck && isWrite) throw new Error(`--check and --write-floors exclude each other.\n${USAGE}`);
  if (isCheck) return 'check';
  return isWrite ? 'write' : 'none';
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
