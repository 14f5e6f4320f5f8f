import { parseArgs } from 'node:util';

/**
 * What can be measured: four servers under load, the service at rest, its tool hosts, its sessions, its telemetry, the
 * formats of providers, its MCP door and what stands behind it,
 * its notes and its searches in files.
 */
export const PARTS = [
  'bare',
  'embedded',
  'redis',
  'failing',
  'start',
  'isolated',
  'overload',
  'kill',
  'sessions',
  'telemetry',
  'formats',
  'mcp',
  'upstream',
  'notes',
  'files',
] as const;
export type Part = (typeof PARTS)[number];

/** What a figure is a ratio to. */
export const COMPARED_TO = { embedded: 'bare', redis: 'bare', failing: 'embedded' } as const;

export type Options = {
  /** Length of one measured run, in seconds. */
  readonly seconds: number;
  /** Runs of each server for each batch size. */
  readonly rounds: number;
  /** In the order of PARTS, with what they are compared to. */
  readonly parts: readonly Part[];
};

const USAGE = `Usage: npm run bench -- [--seconds 3] [--rounds 7] [--only ${PARTS.join(',')}]`;

/** Reads the command line; throws an error that says how it is used. */
export const loadOptions = (words: readonly string[]): Options => {
  const { values } = parseArgs({
    args: [...words],
    options: {
      seconds: { type: 'string', default: '3' },
      rounds: { type: 'string', default: '7' },
      only: { type: 'string', default: PARTS.join(',') },
    },
  });
  return {
    seconds: wholeFrom('--seconds', values.seconds, 60),
    rounds: wholeFrom('--rounds', values.rounds, 100),
    parts: toParts(values.only),
  };
};

const wholeFrom = (name: string, text: string, most: number): number => {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1 && value <= most) return value;
  throw new Error(`${name} must be a whole number from 1 to ${most}, got '${text}'.\n${USAGE}`);
};

const toParts = (text: string): readonly Part[] => {
  const asked = new Set(text.split(',').map((word) => word.trim()));
  const unknown = [...asked].filter((word) => !PARTS.some((part) => part === word));
  if (unknown.length > 0) throw new Error(`--only does not know '${unknown.join("', '")}'.\n${USAGE}`);
  if (asked.has('failing')) asked.add(COMPARED_TO.failing);
  if (asked.has('embedded') || asked.has('redis')) asked.add('bare');
  return PARTS.filter((part) => asked.has(part));
};
