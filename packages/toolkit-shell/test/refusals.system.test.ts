import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startService } from '@recourse/test-support/start-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createShellPlace, type ShellPlace, toShellSettings } from '#test/shell-lab.ts';

let place: ShellPlace;
beforeEach(() => {
  place = createShellPlace();
});
afterEach(() => place.remove());

const writeScript = (...lines: readonly string[]): string => {
  const path = join(place.base, 'bwrap');
  writeFileSync(path, ['#!/bin/sh', ...lines, ''].join('\n'));
  chmodSync(path, 0o755);
  return path;
};

/** Starts the service with this bubblewrap and gives the reason why it does not offer the tool; all else must serve. */
const findReason = async (bwrapPath: string): Promise<string> => {
  const service = await startService({ ...toShellSettings(place), SHELL_BWRAP_PATH: bwrapPath });
  try {
    const [refused, echoed] = await service.call([
      { id: 'a', name: 'run_shell_command', arguments: { command: 'touch /workspace/owned' } },
      { id: 'b', name: 'echo', arguments: { text: 'here' } },
    ]);
    expect(refused).toMatchObject({ success: false, executed: 'no', error: { code: 'tool_unavailable' } });
    expect(echoed).toMatchObject({ success: true });
    const warning = service.logLines().find(({ msg }) => msg === 'shell tool not offered');
    expect(warning).toMatchObject({ level: 40, tool: 'run_shell_command' });
    const answer: unknown = await (await fetch(`${service.url}/tools`)).json();
    expect(answer).toMatchObject({
      tools: expect.arrayContaining([
        expect.objectContaining({
          name: 'run_shell_command',
          available: false,
          unavailable_reason: warning?.['reason'],
        }),
      ]),
    });
    expect(place.processes()).toEqual([]);
    return String(warning?.['reason']);
  } finally {
    await service.stop();
  }
};

test('without bubblewrap the tool is not offered, and says what to install', async () => {
  expect(await findReason('/nowhere/bwrap')).toBe(
    'bubblewrap was not found (/nowhere/bwrap): install the package bubblewrap, or set SHELL_BWRAP_PATH',
  );
  expect(await findReason('no-such-bwrap')).toContain('bubblewrap was not found (no-such-bwrap)');
});

test('with a bubblewrap that can make no sandbox its own words are the reason', async () => {
  const path = writeScript('echo "bwrap: No permissions to create new namespace" >&2', 'exit 1');
  expect(await findReason(path)).toBe(
    'bubblewrap cannot create a sandbox here (bwrap: No permissions to create new namespace); in a container it needs user namespaces, see packages/toolkit-shell/README.md',
  );
});

const RUNS_ON_THE_HOST = [
  'while [ "$1" != -- ]; do shift; done; shift',
  'echo "{ \\"child-pid\\": $$ }" >&3',
  `cd '${'PLACE'}'`,
  '"$@"; code=$?',
  'echo "{ \\"exit-code\\": $code }" >&3',
  'exit $code',
];

test('a bubblewrap that runs commands without isolation is found out', async () => {
  const path = writeScript(...RUNS_ON_THE_HOST.map((line) => line.replace('PLACE', place.root)));
  const reason = await findReason(path);
  expect(reason).toMatch(
    /^the sandbox does not isolate commands: a command shares the pid namespace of this service; /,
  );
  for (const problem of [
    'a command shares the net namespace',
    'a command sees /etc/shadow',
    'system calls are not filtered',
  ])
    expect(reason).toContain(problem);
});

/** The real bubblewrap, with some of its words taken away or put in the place of others. */
const writeWeakened = (edit: string): string => {
  const real = toShellSettings(place)['SHELL_BWRAP_PATH'];
  return writeScript(
    'for word; do shift',
    `  case $word in ${edit} ;; esac`,
    '  set -- "$@" "$word"',
    'done',
    `exec ${real} "$@"`,
  );
};

test.each([
  ['--unshare-net) continue', 'a command shares the net namespace of this service'],
  ['--unshare-pid|--as-pid-1) continue', 'a command shares the pid namespace of this service'],
  ['--unshare-ipc) continue', 'a command shares the ipc namespace of this service'],
  ['/tmp) word=/var', 'a command sees /var'],
  ['--remount-ro) word=--dir', 'a command may write to /'],
  ['--seccomp) word=--sync-fd', 'system calls are not filtered'],
  ['/workspace) word=/elsewhere', 'a command does not start in /workspace'],
  ['TERM) word=AWS_SECRET', 'a command sees the variable AWS_SECRET'],
  ['--core=0) word=--core=1000000', 'limits are not set'],
])('a sandbox weakened by %s is not used', async (edit, problem) => {
  expect(await findReason(writeWeakened(edit))).toContain(problem);
});

test('a bubblewrap that never answers costs the start some fifteen seconds at most, and is ended', async () => {
  const began = performance.now();
  expect(await findReason(writeScript('sleep 1000'))).toBe('the first command in the sandbox did not end in time');
  expect(performance.now() - began).toBeLessThan(timeLimit(30_000));
});

test('a machine that was too busy for a sandbox is asked again', { timeout: timeLimit(60_000) }, async () => {
  const real = toShellSettings(place)['SHELL_BWRAP_PATH'];
  const path = writeScript(
    `echo x >>'${place.base}/calls'`,
    `case $(wc -l <'${place.base}/calls') in`,
    // The first command of the first attempt, and the second of the second.
    '  1 | 3) echo "bwrap: Creating new namespace failed: Resource temporarily unavailable" >&2; exit 1 ;;',
    'esac',
    `exec ${real} "$@"`,
  );
  const service = await startService({ ...toShellSettings(place), SHELL_BWRAP_PATH: path });
  try {
    expect(service.logLines().find(({ msg }) => msg === 'shell tool not offered')).toBeUndefined();
    const [result] = await service.call([{ name: 'run_shell_command', arguments: { command: 'echo works' } }]);
    expect(result).toMatchObject({ success: true, value: { stdout: 'works\n' } });
    expect(readFileSync(join(place.base, 'calls'), 'utf8')).toBe('x\n'.repeat(6));
  } finally {
    await service.stop();
  }
});

test('a machine that stays too busy is told from one that cannot make a sandbox', {
  timeout: timeLimit(60_000),
}, async () => {
  const path = writeScript('echo "sh: 1: Cannot fork" >&2', 'exit 2');
  expect(await findReason(path)).toBe('the machine had no resources for a sandbox (sh: 1: Cannot fork)');
});
