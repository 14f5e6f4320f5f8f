import { toTable, toVerdict } from '../to-table.ts';
import type { FilesMeasured } from './measure-files.ts';

const MAX_RATIO = 4;

/** The part of the report about searches in files. */
export const toFilesSection = ({ files, megabytes, series }: FilesMeasured): readonly string[] => [
  `## search_files and grep: ${files} files, ${megabytes.toFixed(0)} MB`,
  toTable(
    ['search', 'search_files, ms', 'grep -rF, ms', 'ratio', 'target', ''],
    series.map(({ what, searchMs, grepMs, ratio }) => [
      what,
      searchMs.toFixed(0),
      grepMs.toFixed(0),
      ratio.toFixed(2),
      `≤ ${MAX_RATIO}`,
      toVerdict(ratio <= MAX_RATIO),
    ]),
  ),
];
