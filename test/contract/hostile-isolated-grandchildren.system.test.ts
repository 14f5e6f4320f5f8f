import {
  answerAlone,
  answerInFullBatch,
  becomes,
  findByArgument,
  type IsolatedLab,
  startIsolated,
} from '@recourse/test-support/hostile-tools/isolated-lab.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';

let service: IsolatedLab;

beforeAll(async () => {
  service = await startIsolated(['grandchildren']);
});

afterAll(async () => {
  // Only where a test has failed: it must not leave behind what it looked for.
  for (const pid of findByArgument(`86400.${process.pid}`)) process.kill(pid, 'SIGKILL');
  await service.stopClean();
});

const TOOLS = [
  'leaves_a_child',
  'leaves_a_child_on_its_pipes',
  'leaves_a_detached_child',
  'leaves_a_session_of_its_own',
  'leaves_an_orphan',
];

let used = 0;
/** Seconds for `sleep` that no other process waits: it is known by them. */
const toSeconds = (): string => {
  used += 1;
  return `86400.${process.pid}${String(used).padStart(3, '0')}`;
};

test.each(TOOLS)('what %s is killed with the process of its tool, alone and among 63 good calls', async (name) => {
  const [alone, among, exiting] = [toSeconds(), toSeconds(), toSeconds()];
  // An exit has more time: on a busy machine the process that it leaves behind may start late.
  const spinning = (seconds: string) => ({ name, arguments: { seconds, after: 'spins' }, timeout_ms: 1_000 });
  const results = [
    await answerAlone(service, spinning(alone)),
    ...(await answerInFullBatch(service, [spinning(among)])),
    await answerAlone(service, { name, arguments: { seconds: exiting, after: 'exits' } }),
  ];
  expect(results.map(({ error }) => error?.code)).toEqual(['timeout', 'timeout', 'tool_crashed']);
  for (const seconds of [alone, among, exiting]) await becomes(() => findByArgument(seconds), []);
});

test('what was left behind by calls that were answered ends with the service', async () => {
  const lab = await startIsolated(['grandchildren']);
  const seconds = TOOLS.map(toSeconds);
  const results = await answerInFullBatch(
    lab,
    TOOLS.map((name, place) => ({ name, arguments: { seconds: seconds[place], after: 'answers' } })),
  );
  expect(results.map(({ success }) => success)).toEqual(TOOLS.map(() => true));
  // They are there at first: what is looked for below can be found.
  for (const text of seconds) await becomes(() => findByArgument(text).length > 0, true);
  await lab.stop();
  // A busy kernel takes a moment for a process that is killed.
  await becomes(() => seconds.flatMap(findByArgument), []);
});
