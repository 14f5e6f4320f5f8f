import { expect, test } from 'vitest';
import { classifyDeath, createDeathError, type Death, findRestartReason } from '#src/classify-death.ts';

const death = (parts: Partial<Death>): Death => ({
  pid: 7,
  exitCode: null,
  signal: null,
  killedFor: null,
  lastLines: [],
  leaver: null,
  ...parts,
});

const HEAP = ['FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory'];

test.each<[string, Partial<Death>, string, string | null]>([
  ['an exit with 0', { exitCode: 0 }, 'tool_crashed', 'exit'],
  ['an exit with 1', { exitCode: 1 }, 'tool_crashed', 'exit'],
  ['an abort', { signal: 'SIGABRT' }, 'tool_crashed', 'crash'],
  ['a segfault', { signal: 'SIGSEGV' }, 'tool_crashed', 'crash'],
  ['a SIGKILL from somebody else', { signal: 'SIGKILL' }, 'tool_crashed', 'crash'],
  ['a full heap', { signal: 'SIGABRT', lastLines: HEAP }, 'out_of_memory', 'oom'],
  ['a full heap that ends with a code', { exitCode: 134, lastLines: HEAP }, 'out_of_memory', 'oom'],
  ['a tool that only talks of memory and leaves', { exitCode: 0, lastLines: HEAP }, 'tool_crashed', 'exit'],
  ['too much memory', { signal: 'SIGKILL', killedFor: 'memory' }, 'out_of_memory', 'oom'],
  ['a deadline', { signal: 'SIGKILL', killedFor: 'timeout' }, 'tool_crashed', 'timeout'],
  ['a client that went away', { signal: 'SIGKILL', killedFor: 'abort' }, 'tool_crashed', 'timeout'],
  ['a flood', { signal: 'SIGKILL', killedFor: 'flood' }, 'tool_crashed', 'flood'],
  ['a forgery', { signal: 'SIGKILL', killedFor: 'forgery' }, 'tool_crashed', 'flood'],
  ['a flood of words on memory', { signal: 'SIGKILL', killedFor: 'flood', lastLines: HEAP }, 'tool_crashed', 'flood'],
  ['a host that is worn', { signal: 'SIGKILL', killedFor: 'recycle' }, 'tool_crashed', 'recycle'],
  ['a host that has grown', { signal: 'SIGKILL', killedFor: 'growth' }, 'tool_crashed', 'growth'],
  ['a host too many', { signal: 'SIGKILL', killedFor: 'surplus' }, 'tool_crashed', null],
  ['the end of the service', { signal: 'SIGKILL', killedFor: 'shutdown' }, 'tool_crashed', null],
])('%s', (_how, parts, code, restart) => {
  expect(classifyDeath(death(parts))).toBe(code);
  expect(findRestartReason(death(parts))).toBe(restart);
});

test('the log reads how a host ended, why, and what it said last', () => {
  const byItself = createDeathError(death({ exitCode: 3, lastLines: ['one', 'two'] }));
  expect(byItself.name).toBe('ToolHostEnded');
  expect(byItself.message).toBe('The tool host 7 ended: exit code 3. Its last output: one | two');
  expect(createDeathError(death({ signal: 'SIGKILL', killedFor: 'memory' })).message).toBe(
    'The tool host 7 ended: signal SIGKILL, ended by the service (memory).',
  );
});
