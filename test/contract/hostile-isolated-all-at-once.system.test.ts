import {
  answerAlone,
  answerInFullBatch,
  becomes,
  findByArgument,
  type IsolatedLab,
  residentMb,
  startIsolated,
} from '@recourse/test-support/hostile-tools/isolated-lab.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';

let service: IsolatedLab;

beforeAll(async () => {
  service = await startIsolated(
    ['endless', 'exits', 'late', 'memory', 'floods', 'channel', 'mutators', 'grandchildren', 'misbehaving'],
    { TOOL_HOST_MEMORY_MB: '200', TOOL_HOSTS_MAX: '16' },
  );
});

afterAll(() => service.stopClean());

const SECONDS = `86400.9${process.pid}`;

/** Each way to misbehave → how its call may end. */
const KILLERS: readonly (readonly [name: string, ...codes: (string | null)[]])[] = [
  ['never_settles_there', 'timeout'],
  ['spins', 'timeout'],
  ['spins_write', 'timeout'],
  ['catastrophic_regex', 'timeout'],
  ['refine_spins', 'timeout'],
  ['waits_without_a_turn', 'timeout'],
  ['exits_with_0', 'tool_crashed'],
  ['exits_with_7', 'tool_crashed'],
  ['aborts', 'tool_crashed'],
  ['segfaults', 'tool_crashed'],
  ['kills_its_group', 'tool_crashed'],
  ['exits_with_0_write', 'tool_crashed'],
  // What ends late may take the next call of its own file with it.
  ['throws_late', null, 'tool_crashed'],
  ['rejects_late', null, 'tool_crashed'],
  ['exits_late', null, 'tool_crashed'],
  ['heap_oom', 'out_of_memory'],
  ['four_gigabytes_of_buffers', 'out_of_memory'],
  ['gigabyte_to_stdout', 'tool_crashed'],
  ['gigabyte_to_stderr', 'tool_crashed'],
  ['gigabyte_of_ones_to_its_channel', 'tool_crashed'],
  ['many_forged_answers', 'tool_crashed'],
  ['guesses_a_nonce', null],
  ['answers_three_times', null],
  ['closes_its_channel', 'tool_crashed'],
  ['pollutes_object_prototype', null],
  ['replaces_fetch', null],
  ['leaves_a_detached_child', 'timeout'],
  ['throws_revoked_proxy', 'tool_exception'],
  ['returns_throwing_getter', 'invalid_output'],
  ['returns_six_hundred_megabytes', 'output_too_large'],
];

test('everything at once costs 34 good calls of the same batch nothing', async () => {
  const before = residentMb();
  const calls = KILLERS.map(([name]) => ({
    name,
    arguments: name === 'leaves_a_detached_child' ? { seconds: SECONDS, after: 'spins' } : {},
    ...(name === 'leaves_a_detached_child' && { timeout_ms: 1_000 }),
  }));
  const results = await answerInFullBatch(service, calls);
  const wrong = results.flatMap(({ name, error }, order) =>
    KILLERS[order]?.slice(1).includes(error?.code ?? null) ? [] : [{ name, error }],
  );
  expect(wrong).toEqual([]);
  expect(residentMb() - before).toBeLessThan(200);
  await becomes(() => findByArgument(SECONDS), []);
});

test('after that every file serves again', async () => {
  for (const name of [
    'tells_its_process',
    'sees_its_parent',
    'quiet_neighbour',
    'counts_what_it_keeps',
    'quiet_between_floods',
    'good_of_this_file',
    'counts_in_its_module',
  ])
    await becomes(async () => (await answerAlone(service, { name })).outcome, 'success');
});
