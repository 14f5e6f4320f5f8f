import { toEntry, toFailedEntry } from '@recourse/test-support/journal-entries.ts';
import { expect, test } from 'vitest';
import { createBuiltinReducers } from '#src/tools/builtin-reducers.ts';
import { toSlice } from './reducer-lab.ts';

const sliceOf = (name: string, entries: Parameters<typeof toSlice>[1]): Promise<unknown> => {
  const reducer = createBuiltinReducers().find((candidate) => candidate.name === name);
  if (reducer === undefined) throw new Error(`There is no reducer ${name}.`);
  return toSlice(reducer, entries);
};

test('three reducers are built in', () => {
  expect(createBuiltinReducers().map(({ name, role, source }) => [name, role, source])).toEqual([
    ['failures_by_tool', 'reducer', 'builtin'],
    ['last_success', 'reducer', 'builtin'],
    ['timeline', 'reducer', 'builtin'],
  ]);
});

test('failures are counted by tool and code; successes are not', async () => {
  const entries = [
    toFailedEntry(),
    toEntry(),
    toFailedEntry({ tool: 'write', code: 'timeout' }),
    toFailedEntry({ code: 'timeout' }),
    toFailedEntry(),
    toFailedEntry({ tool: '_unknown', code: 'unknown_tool' }),
    toFailedEntry({ tool: null, code: 'invalid_call' }),
    toEntry({ tool: 'write' }),
  ];
  expect(await sliceOf('failures_by_tool', entries)).toEqual({
    search: { tool_exception: 2, timeout: 1 },
    write: { timeout: 1 },
    _unknown: { unknown_tool: 1, invalid_call: 1 },
  });
  expect(await sliceOf('failures_by_tool', [])).toEqual({});
});

test.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])(
  'failures of a tool called %s are counted like any other',
  async (tool) => {
    const slice = await sliceOf('failures_by_tool', [toFailedEntry({ tool }), toFailedEntry({ tool })]);
    expect(JSON.stringify(slice)).toBe(`{"${tool}":{"tool_exception":2}}`);
    expect(Reflect.get({}, 'tool_exception')).toBeUndefined();
  },
);

test('the last success is the last call that succeeded, or null', async () => {
  const entries = [
    toEntry({ step: 1 }),
    toEntry({ step: 2, tool: 'write', request_id: 'r_2', index: 4, time: '2026-11-21T10:00:07.000Z' }),
    toFailedEntry({ step: 3 }),
  ];
  expect(await sliceOf('last_success', entries)).toEqual({
    tool: 'write',
    step: 2,
    time: '2026-11-21T10:00:07.000Z',
    request_id: 'r_2',
    index: 4,
  });
  expect(await sliceOf('last_success', [toFailedEntry()])).toBeNull();
  expect(await sliceOf('last_success', [])).toBeNull();
});

test('the timeline tells of each call what a person wants to know', async () => {
  const failed = toFailedEntry({ step: 2, tool: 'write', duration_ms: 12.25, message: 'Error: the disk is full.' });
  expect(await sliceOf('timeline', [toEntry(), failed])).toEqual([
    {
      step: 1,
      time: '2026-11-21T10:00:00.000Z',
      tool: 'search',
      outcome: 'success',
      code: null,
      retries_left: 3,
      duration_ms: 1.5,
      message: '',
    },
    {
      step: 2,
      time: '2026-11-21T10:00:00.000Z',
      tool: 'write',
      outcome: 'retry',
      code: 'tool_exception',
      retries_left: 2,
      duration_ms: 12.25,
      message: 'Error: the disk is full.',
    },
  ]);
});

test('the timeline holds the last fifty calls', async () => {
  const entries = Array.from({ length: 51 }, (_, index) => toEntry({ step: index + 1 }));
  const timeline = await sliceOf('timeline', entries);
  expect(timeline).toHaveLength(50);
  expect(timeline).toMatchObject({ 0: { step: 2 }, 49: { step: 51 } });
});

test('no reducer changes the calls that it is shown', async () => {
  const entries = Object.freeze([Object.freeze(toEntry()), Object.freeze(toFailedEntry())]);
  for (const reducer of createBuiltinReducers()) await toSlice(reducer, entries);
  expect(entries).toEqual([toEntry(), toFailedEntry()]);
});
