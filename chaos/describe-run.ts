import { spawnSync } from 'node:child_process';
import { cpus, loadavg, release } from 'node:os';
import { join } from 'node:path';
import type { Options } from './options.ts';

/** What a reader must know to judge the figures. Asked before the run: the load of the machine is that of others. */
export const describeRun = ({ seconds, rate, seed, niceness }: Options): readonly string[] => [
  ...describeMachine(),
  `${seconds} s at ${rate} batches a second, seed ${seed}, niceness ${niceness}; two replicas, one Redis, nothing pinned to a core`,
];

/** When, of which commit, and on what machine. */
export const describeMachine = (): readonly string[] => {
  const all = cpus();
  return [
    `${new Date().toISOString().slice(0, 16).replace('T', ' ')} UTC, ${describeCommit()}`,
    `${all.length} cores, ${all[0]?.model.trim() ?? 'unknown model'}, Linux ${release()}, Node ${process.version}`,
    `Load of the machine before the run: ${loadavg()[0]?.toFixed(2)} (average of one minute)`,
  ];
};

const describeCommit = (): string => {
  const commit = git(['rev-parse', '--short', 'HEAD']);
  if (commit === '') return 'commit unknown';
  const changes = git(['status', '--porcelain', '--', 'src', 'packages', 'chaos', ':!chaos/results.md']);
  return `commit ${commit}${changes === '' ? '' : ' with changes not committed'}`;
};

const git = (words: readonly string[]): string => {
  const cwd = join(import.meta.dirname, '..');
  const { status, stdout } = spawnSync('git', ['--no-optional-locks', ...words], { encoding: 'utf8', cwd });
  return status === 0 ? stdout.trim() : '';
};
