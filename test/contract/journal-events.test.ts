import { createActor, fail, startLab } from '@recourse/test-support/keyed-client.ts';
import { startWiredLab } from '@recourse/test-support/start-wired-lab.ts';
import { expect, test } from 'vitest';
import type { ToolInvoked } from '#src/executor/call-observer.ts';
import { defineReducer } from '#src/tools/define-reducer.ts';
import { TerminalToolError } from '#src/tools/tool-errors.ts';

const throwIt = (thrown: unknown) => () => {
  throw thrown;
};

/** Tools that end in different ways. */
const createEndings = () => [
  createActor('well'),
  createActor('test', {}, fail),
  createActor('pointless', {}, throwIt(new TerminalToolError('There is none.'))),
  createActor('slow', { timeoutMs: 20 }, () => new Promise(() => undefined)),
];

test('subscribers hear of every call once, failures with a null value too; those that throw change nothing', async () => {
  const heard: ToolInvoked[] = [];
  const lab = await startWiredLab(
    createEndings(),
    {
      subscribers: [
        throwIt(new Error('the subscriber throws')),
        async () => Promise.reject(new Error('the subscriber rejects')),
        (event) => void heard.push(event),
      ],
    },
    { CIRCUIT_FAILURES: '0' },
  );
  const calls = ['well', 'test', 'pointless', 'slow', 'nix'].map((name) => ({ id: name, name }));
  const { status, results } = await lab.post({ session_id: 's', calls: [...calls, { id: 'well', name: 'well' }] });
  expect(status).toBe(200);
  expect(
    heard.map(({ index, tool, success, code, valueJson, replayed }) => [
      index,
      tool,
      success,
      code,
      valueJson,
      replayed,
    ]),
  ).toEqual([
    [0, 'well', true, null, '{}', false],
    [1, 'test', false, 'tool_exception', 'null', false],
    [2, 'pointless', false, 'tool_failed', 'null', false],
    [3, 'slow', false, 'timeout', 'null', false],
    [4, '_unknown', false, 'unknown_tool', 'null', false],
    [5, 'well', true, null, '{}', true],
  ]);
  expect(results.map(({ message }) => message.split(' This was')[0])).toEqual(heard.map(({ message }) => message));
  expect(lab.log()).toContain('the subscriber throws');
  expect(lab.log()).toContain('the subscriber rejects');
  await expect.poll(async () => (await lab.session('s')).calls.length).toBe(6);
});

test('a reducer of a team’s own folds over the calls, and one that throws costs only its own slice', async () => {
  const count = defineReducer({
    name: 'calls_by_step',
    initial: {},
    reduce: (state: Readonly<Record<string, number>>, { step }) => ({ ...state, [step]: (state[step] ?? 0) + 1 }),
  });
  const broken = defineReducer({ name: 'broken', initial: 0, reduce: () => fail() });
  const { post, session } = await startLab([createActor('look'), { tool: count }, { tool: broken }]);
  for (const n of [1, 2])
    await post({ session_id: 's', calls: Array.from({ length: n }, () => ({ name: 'look', arguments: { n } })) });
  const { slices, slice_errors: errors } = await session('s');
  expect(slices['calls_by_step']).toEqual({ 1: 1, 2: 2 });
  expect(slices['last_success']).toMatchObject({ step: 2, index: 1 });
  expect(Object.keys(slices)).not.toContain('broken');
  expect(errors).toEqual({ broken: 'Error: no' });
});
