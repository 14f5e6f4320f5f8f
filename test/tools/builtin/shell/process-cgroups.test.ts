import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import { openProcessCgroups } from '#src/tools/builtin/shell/process-cgroups.ts';

const IS_ROOT = process.geteuid?.() === 0;
// Enters the group, then starts forty processes, each of which says that it is there.
const STARTS_FORTY = 'echo $$ >"$1"; n=0; while [ $n -lt 40 ]; do (echo here; exec sleep 2) & n=$((n+1)); done; wait';

test('the kernel lets a control group have as many processes as were allowed and sixteen more', async () => {
  const cgroups = openProcessCgroups(8);
  // Other users need none: for them a resource limit holds.
  expect(cgroups === null).toBe(!IS_ROOT);
  if (cgroups === null) return;
  const cgroup = cgroups.create();
  if (cgroup === null) throw new Error('No control group was made.');
  const { stdout } = spawnSync('/bin/sh', ['-c', STARTS_FORTY, 'sh', cgroup.procsFile], { encoding: 'utf8' });
  const started = stdout.split('\n').filter((line) => line === 'here').length;
  expect(started).toBeGreaterThan(8);
  expect(started).toBeLessThanOrEqual(24);
  cgroup.remove();
  await expect.poll(() => existsSync(dirname(cgroup.procsFile)), { timeout: 15_000 }).toBe(false);
});
