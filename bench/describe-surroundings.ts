import { spawnSync } from 'node:child_process';
import { cpus, loadavg, release } from 'node:os';
import { join } from 'node:path';
import type { Cores } from './cores.ts';
import { SLICE_MS } from './measure-lanes.ts';
import { STARTS, toRoundsOfStart } from './measure-starts.ts';
import type { Options } from './options.ts';

/** What a reader must know to judge the figures: when, on what machine, of which commit, with which settings. */
export const describeSurroundings = (options: Options, cores: Cores): readonly string[] => {
  const all = cpus();
  return [
    `${new Date().toISOString().slice(0, 16).replace('T', ' ')} UTC, ${describeCommit()}`,
    `${all.length} cores, ${all[0]?.model.trim() ?? 'unknown model'}, Linux ${release()}, Node ${process.version}`,
    `Load of the machine before the bench: ${loadavg()[0]?.toFixed(2)} (average of one minute)`,
    cores.pinned
      ? `Servers on core ${cores.server}; load generator and Redis on core ${cores.load}`
      : `Nothing pinned to a core: ${cores.reason}`,
    `${options.rounds} slices of ${SLICE_MS} ms of each server, in turn, after ${options.warmUpSeconds} s of warm-up; where servers are started ${STARTS} times, ${toRoundsOfStart(options.rounds)} in each start`,
  ];
};

const describeCommit = (): string => {
  const commit = git(['rev-parse', '--short', 'HEAD']);
  if (commit === '') return 'commit unknown';
  const changes = git(['status', '--porcelain', '--', 'src', 'bench', ':!bench/results.md', ':!bench/floors.json']);
  return `commit ${commit}${changes === '' ? '' : ' with changes not committed'}`;
};

const git = (words: readonly string[]): string => {
  const { status, stdout } = spawnSync('git', ['--no-optional-locks', ...words], {
    encoding: 'utf8',
    cwd: join(import.meta.dirname, '..'),
  });
  return status === 0 ? stdout.trim() : '';
};
