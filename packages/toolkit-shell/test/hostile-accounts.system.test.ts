import { chmodSync, chownSync, readFileSync } from 'node:fs';
import { canStartAs, startProcess } from '@recourse/test-support/start-process.ts';
import { callService } from '@recourse/test-support/start-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import type { ToolResult } from 'recourse-server/internal/contract/tool-result.ts';
import { expect, onTestFinished, test } from 'vitest';
import { createShellPlace, startShellLab, stdoutOf, toShellSettings } from '#test/shell-lab.ts';

// The kernel counts some things for each user of the machine, a service and its commands together. Nobody else has this
// number: a test that goes wrong takes nothing from others.
const USER = 61_817;
const canTry = canStartAs(USER);

/** A whole service in a process of its own that is not root; runs one command. */
const startAsUser = async (): Promise<(command: string) => Promise<ToolResult | undefined>> => {
  const place = createShellPlace();
  chmodSync(place.base, 0o755);
  chownSync(place.root, USER, USER);
  const service = await startProcess({ by: 'node', user: USER, environment: toShellSettings(place) });
  onTestFinished(() => place.remove());
  return async (command) => {
    const calls = [{ name: 'run_shell_command', arguments: { command } }];
    return (await callService(service.url, calls))[0];
  };
};

const [createEpoll, controlEpoll, openQueue, createTimer] =
  process.arch === 'x64' ? [291, 233, 240, 222] : [20, 21, 180, 107];

// 56 processes with 250 epoll instances, each with 252 ends of pipes: 3.5 million watches, of 200 bytes each. Whatever
// processes get is held until there is no more, and a little longer.
const TAKES_WATCHES = `perl -e '
  $event = pack("LQ", 0, 0);
  for (1 .. 56) {
    next if fork;
    for (1 .. 126) { pipe(my $r, my $w) or last; push @ends, $r, $w }
    EPOLL: for (1 .. 250) {
      ($epoll = syscall(${createEpoll}, 0)) >= 0 or last;
      for (@ends) { syscall(${controlEpoll}, $epoll, 1, fileno $_, $event) == 0 or last EPOLL; $watches++ }
    }
    print $watches + 0, " watches: $!\\n";
    sleep 10 if $watches;
    exit;
  }
  1 while wait > 0;' | sort | uniq -c`;

test.runIf(canTry)(
  'commands that take all epoll watches they can get do not end the service',
  { timeout: timeLimit(60_000) },
  async () => {
    const run = await startAsUser();
    const results = await Promise.all([run(TAKES_WATCHES), run(TAKES_WATCHES)]);
    expect(results).toMatchObject(Array.from({ length: 2 }, () => ({ outcome: 'success' })));
    for (const result of results)
      expect(result?.value).toMatchObject({
        stdout: expect.stringMatching(/^ *56 0 watches: Function not implemented\n$/),
      });
    expect(await run('echo here')).toMatchObject({ outcome: 'success', value: { stdout: 'here\n' } });
  },
);

// 16 pages a pipe; beyond fs.pipe-user-pages-soft (16,384 pages, unless the machine has another limit) a new pipe gets two.
const softPages = Number(readFileSync('/proc/sys/fs/pipe-user-pages-soft', 'latin1'));
const canTakePipes = canTry && softPages > 0 && softPages <= 16_384;
const TAKES_PIPES = `perl -e '
  for (1 .. 5) {
    next if fork;
    while (pipe(my $r, my $w)) { push @ends, $r, $w }
    print scalar @ends, "\\n";
    open F, ">", "held.$_";
    select(undef, undef, undef, 0.02) until -e "over";
    exit;
  }
  1 while wait > 0;'`;

test.runIf(canTakePipes)(
  'with all pipe pages of the user in use the service runs commands, with smaller pipes',
  async () => {
    const run = await startAsUser();
    const taking = run(TAKES_PIPES);
    const held = 'until [ "$(ls held.* 2>/dev/null | wc -l)" = 5 ]; do sleep 0.02; done';
    const size = 'perl -e "pipe(R, W); print fcntl(R, 1032, 0)"';
    const other = await run(`${held}; ${size}; echo; head -c 50M /dev/zero | cat | wc -c; touch over`);
    expect(other).toMatchObject({ outcome: 'success', value: { stdout: '8192\n52428800\n' } });
    expect(await taking).toMatchObject({ outcome: 'success', value: { stdout: '508\n'.repeat(5) } });
  },
);

const MAKES_EPOLL = `perl -e 'print syscall(${createEpoll}, 0) < 0 ? "$!" : "made"'`;

test('what the kernel counts for each user is closed to commands, or bounded for each of them', async () => {
  const lab = await startShellLab();
  onTestFinished(() => lab.stop());
  const timers = `perl -e '
    for (1 .. 4) {
      next if fork;
      $made++ while $made < 1000 && syscall(${createTimer}, 1, 0, my $id = "12345678") == 0;
      open F, ">", "/tmp/$_";
      select(undef, undef, undef, 0.02) until 4 == (() = glob "/tmp/?");
      print "x" x $made;
      exit;
    }
    1 while wait > 0;' | wc -c`;
  expect(stdoutOf(await lab.run(timers))).toBe('128\n');
  expect(stdoutOf(await lab.run(MAKES_EPOLL))).toBe('Function not implemented');
  const queue = `perl -e '$name = "queue"; print syscall(${openQueue}, $name, 0102, 0600, 0) < 0 ? "$!" : "made"'`;
  expect(stdoutOf(await lab.run(queue))).toBe('Function not implemented');
  expect(stdoutOf(await lab.run('ulimit -l'))).toBe('0\n');
});

test('an operator may allow epoll, and is told at the start what that means', async () => {
  const lab = await startShellLab({ SHELL_EPOLL: 'true' });
  onTestFinished(() => lab.stop());
  expect(stdoutOf(await lab.run(MAKES_EPOLL))).toBe('made');
  expect(lab.service.logLines()).toContainEqual(
    expect.objectContaining({
      level: 40,
      msg: 'commands may use epoll, and can crash this service by exhausting its watches',
    }),
  );
});
