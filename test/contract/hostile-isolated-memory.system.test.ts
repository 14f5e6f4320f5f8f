import {
  answerAlone,
  answerBoth,
  type IsolatedLab,
  lineOf,
  residentMb,
  restartsFor,
  startIsolated,
  toVerdict,
} from '@recourse/test-support/hostile-tools/isolated-lab.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';

let service: IsolatedLab;

beforeAll(async () => {
  service = await startIsolated(['memory'], { TOOL_HOST_MEMORY_MB: '160' });
});

afterAll(() => service.stopClean());

test.each(['heap_oom', 'heap_oom_in_turns', 'four_gigabytes_of_buffers', 'parses_what_does_not_fit'])(
  '%s ends its own process, alone and among 63 good calls',
  async (name) => {
    const before = await restartsFor(service, 'oom');
    const memoryBefore = residentMb();
    for (const result of await answerBoth(service, { name, arguments: {} })) {
      expect(toVerdict(result)).toEqual({
        code: 'out_of_memory',
        outcome: 'retry',
        executed: 'maybe',
        value: null,
        message: `Tool '${name}' ran out of memory. It is safe to call it again; ask for less.`,
      });
      expect(lineOf(service, result)).toMatchObject({ code: 'out_of_memory', causes: [{ type: 'ToolHostEnded' }] });
    }
    expect(await restartsFor(service, 'oom')).toBe(before + 2);
    expect(residentMb() - memoryBefore).toBeLessThan(100);
    expect(await answerAlone(service, { name: 'counts_what_it_keeps' })).toMatchObject({ success: true, value: 0 });
  },
);

test('what a write tool did before its memory was full is not known', async () => {
  for (const result of await answerBoth(service, { name: 'heap_oom_write', arguments: {} }))
    expect(toVerdict(result)).toEqual({
      code: 'out_of_memory',
      outcome: 'unknown',
      executed: 'maybe',
      value: null,
      message:
        "Tool 'heap_oom_write' ran out of memory. It may or may not have taken effect. Check before calling it again.",
    });
});

test('a text that is too long for the language is an exception', async () => {
  for (const result of await answerBoth(service, { name: 'text_too_long', arguments: {} }))
    expect(toVerdict(result)).toEqual({
      code: 'tool_exception',
      outcome: 'retry',
      executed: 'yes',
      value: null,
      message: 'RangeError: Invalid string length',
    });
});
