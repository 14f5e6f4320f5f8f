import { toShareSent } from '../paced/offer-load.ts';
import { showOthers, toOthers } from '../paced/paced-plan.ts';
import { toTable } from '../to-table.ts';
import { CONNECTIONS, type Level, type Sustained } from './measure-sustained.ts';

const ms = (value: number): string => value.toFixed(1);

const ROWS: readonly (readonly [string, (level: Level) => string])[] = [
  ['batches asked for, /s', ({ ratePerSecond }) => ratePerSecond.toFixed(0)],
  ['answered as they should be, /s', ({ result, seconds }) => (result.answeredInTime / seconds).toFixed(0)],
  ['from the moment due to the answer, p50 ms', ({ result }) => ms(result.p50)],
  ['p99 ms', ({ result }) => ms(result.p99)],
  ['p99.9 ms', ({ result }) => ms(result.p999)],
  ['share of the rate that was sent', (level) => toShareSent(level).toFixed(3)],
  ['sent late, p50 and p99 ms', ({ result }) => `${ms(result.latenessP50)}, ${ms(result.latenessP99)}`],
  ['answers with a warning', ({ result }) => String(result.outcomes['warned'] ?? 0)],
  ['anything else, in all', ({ result }) => showOthers(toOthers(result, ['right', 'warned']))],
  ['memory of the service at the begin, MB', ({ memory }) => memory.beforeMb.toFixed(0)],
  ['in the middle', ({ memory }) => memory.middleMb.toFixed(0)],
  ['at the end', ({ memory }) => memory.afterMb.toFixed(0)],
  ['highest', ({ memory }) => memory.highestMb.toFixed(0)],
  ['service busy', ({ busy }) => `${(busy * 100).toFixed(0)} %`],
];

/** The part of the report about minutes of load. */
export const toSustainedSection = ({ limitPerSecond, levels }: Sustained): readonly string[] => [
  `## Mixed batches for ${levels[0]?.seconds} s, ${CONNECTIONS} connections, Redis, one replica`,
  `The limit, in a closed loop: ${limitPerSecond.toFixed(0)} batches/s.`,
  toTable(
    ['', ...levels.map(({ share }) => `${(share * 100).toFixed(0)} % of the limit`)],
    ROWS.map(([title, toCell]) => [title, ...levels.map(toCell)]),
  ),
];
