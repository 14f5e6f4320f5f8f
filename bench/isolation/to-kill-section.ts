import { percentileOf } from '../summarise.ts';
import { MAX_ANSWER_AFTER_DEADLINE_MS, MAX_WHOLE_AGAIN_MS } from '../targets.ts';
import { toTable, toVerdict } from '../to-table.ts';
import type { Kills } from './measure-kill.ts';

/** The part of the report about calls that never end. */
export const toKillSection = (kills: Kills): readonly string[] => [
  `## ${kills.wholeAfterMs.length} pairs of calls that never end, ms`,
  toKillTable(kills),
];

const toKillTable = ({ answeredAfterMs, wholeAfterMs }: Kills): string => {
  const row = (title: string, times: readonly number[], most: number): readonly string[] => {
    const sorted = times.toSorted((one, other) => one - other);
    const p99 = percentileOf(sorted, 0.99);
    const cells = [percentileOf(sorted, 0.5), p99, percentileOf(sorted, 1)].map((ms) => ms.toFixed(1));
    return [title, ...cells, `p99 ≤ ${most}`, toVerdict(p99 <= most)];
  };
  return toTable(
    ['figure', 'p50', 'p99', 'highest', 'target', ''],
    [
      row('from the deadline to the answer', answeredAfterMs, MAX_ANSWER_AFTER_DEADLINE_MS),
      row('from the answer until the next call of the tool has a process', wholeAfterMs, MAX_WHOLE_AGAIN_MS),
    ],
  );
};
