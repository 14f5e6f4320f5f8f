import { toEntry, toFailedEntry } from '@recourse/test-support/journal-entries.ts';
import { toPlainText } from 'recourse-server/internal/cli/terminal.ts';
import type { SessionView } from 'recourse-server/internal/contract/session.ts';
import { expect, test } from 'vitest';
import { cutToColumns } from '#src/command-output.ts';
import { formatOverview, formatTimeline } from '#src/session-command.ts';

const CALLS: SessionView['calls'] = [
  toFailedEntry({
    tool: 'read_file',
    message: "FileNotFoundError: there is no file 'note.md'.",
    retries_left: 3,
  }),
  toEntry({ step: 2, tool: 'read_file', duration_ms: 12.4 }),
  toFailedEntry({
    step: 3,
    tool: 'write_file',
    outcome: 'unknown',
    code: 'timeout',
    message: 'It did not answer in time.',
    duration_ms: 30_000.4,
    retries_left: 0,
    late: {
      time: '2026-11-21T10:00:12.400Z',
      outcome: 'success',
      executed: 'yes',
      code: null,
      message: 'written',
    },
  }),
  toEntry({ step: 4, tool: 'echo', message: 'hello', duration_ms: 0.02, retries_left: null, replayed: true }),
  toFailedEntry({ step: 5, tool: null, code: 'invalid_call', message: 'The call has no name.', retries_left: null }),
];

test('a timeline shows every call, oldest first, and what came late below its call', () => {
  expect(formatTimeline({ calls: CALLS }, Number.POSITIVE_INFINITY)).toBe(
    [
      'step  tool        outcome  code            left     time  message',
      '────────────────────────────────────────────────────────────────────────────────────────────────────────',
      "   1  read_file   retry    tool_exception     3   1.5 ms  FileNotFoundError: there is no file 'note.md'.",
      '   2  read_file   success                     3    12 ms',
      '   3  write_file  unknown  timeout            0   30.0 s  It did not answer in time.',
      '      └ late      success                        +12.4 s  written',
      '   4  echo        success                         0.0 ms  (replayed) hello',
      '   5  (none)      retry    invalid_call           1.5 ms  The call has no name.',
    ].join('\n'),
  );
});

test('messages are cut to the width of the terminal, and no line is wider', () => {
  const lines = formatTimeline({ calls: CALLS }, 80).split('\n');
  expect(lines[2]).toBe('   1  read_file   retry    tool_exception     3   1.5 ms  FileNotFoundError: th…');
  expect(lines.map((line) => line.length).filter((length) => length > 80)).toEqual([]);
  // A message may be as short as this, and then the lines are longer than the terminal is wide.
  expect(formatTimeline({ calls: CALLS }, 20).split('\n')[2]).toMatch(/ms {2}FileNotFoun…$/);
});

const WIDE = [
  ['ideographs', '日本語のエラー'.repeat(20)],
  ['emoji', '🤖⚠️👩‍👩‍👧‍👦🇩🇪👍🏽🫠'.repeat(20)],
  ['Hangul', '오류가발생했습니다'.repeat(20)],
  ['combining characters', 'e\u0301u\u0308\u0e01\u0e34'.repeat(40)],
] as const;

// By hand: at least what a terminal takes for these texts.
const terminalWidth = (line: string): number =>
  [...line].reduce((sum, character) => {
    if (/\p{M}|\u200d/u.test(character)) return sum;
    return sum + (/[\u1100-\u{10ffff}]/u.test(character) && !/[\u2000-\u25ff]/u.test(character) ? 2 : 1);
  }, 0);

test.for(WIDE)('%s do not break the table, nor are they cut in two', ([, message]) => {
  const lines = formatTimeline({ calls: [toFailedEntry({ message }), ...CALLS] }, 100).split('\n');
  const plain = formatTimeline({ calls: [toFailedEntry({ message: 'x' }), ...CALLS] }, 100).split('\n');
  expect(lines.map((line) => line.slice(0, 56))).toEqual(plain.map((line) => line.slice(0, 56)));
  expect(Math.max(...lines.map(terminalWidth))).toBeLessThanOrEqual(100);
  expect(lines[2]).toMatch(/…$/);
  expect(lines[2]).not.toMatch(/\p{Cs}|\ufffd/u);
});

test.for([
  ['colours', '\u001b[31mred\u001b[0m', 'red'],
  ['a title for the window', 'a\u001b]0;owned\u0007b', 'ab'],
  ['a link', '\u001b]8;;http://evil.example\u0007click\u001b]8;;\u0007', 'click'],
  ['an escape that is made by taking another out', '\u001b\u001b[31m[31mred', '\u241b[31mred'],
  ['a reset of the terminal', 'a\u001bcb', 'ab'],
  ['a lone escape', 'a\u001b', 'a␛'],
  ['backspaces and bells', 'ok\b\b\u0007no', 'ok␈␈␇no'],
  ['8-bit commands', '\u009b2Ja\u0085b\u0090c', expect.not.stringMatching(/[\u0080-\u009f]/)],
  ['line breaks and tabs', 'one\r\ntwo\tthree\u2028four\v', 'one two three four'],
  ['what turns the writing around', 'abc\u202egnp.exe\u202c\u2066x', 'abcgnp.exex'],
  ['what nobody sees', 'a\u200bb\u00adc\ufeffd', 'abcd'],
  ['DEL and NUL', 'a\u007f\0b', 'a␡␀b'],
  ['half a surrogate pair', 'a\ud83d', 'a\ufffd'],
] as const)('%s from a tool only ever show as text', ([, given, shown]) => {
  expect(toPlainText(given)).toEqual(shown);
});

test('no name, message or error of a tool brings a control character to the terminal', () => {
  const evil = '\u001b[2J\u001b]52;c;b3duZWQ=\u0007\u009b31m\u202e\n\r\0x';
  const late = {
    time: '2026-11-21T10:00:12.400Z',
    outcome: 'failed',
    executed: 'yes',
    code: null,
    message: evil,
  } as const;
  const calls = [toFailedEntry({ tool: evil, message: evil, late })];
  const view: SessionView = {
    ...VIEW,
    calls,
    tools: [{ ...TOOL, name: evil, last_error: evil }],
    slice_errors: { [evil]: evil },
  };
  for (const width of [80, Number.POSITIVE_INFINITY]) {
    const shown = `${formatOverview(evil, view, width)}\n${formatTimeline(view, width)}`;
    expect(shown.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(shown.split('\n')).toHaveLength(11);
  }
});

test.for([
  ['abc', 3, 'abc'],
  ['abcd', 3, 'ab…'],
  ['日本語', 6, '日本語'],
  ['日本語', 5, '日本…'],
  ['日本語', 4, '日…'],
  ['a日本', 4, 'a日…'],
  ['🤖🤖', 3, '🤖…'],
  ['⚠️⚠️', 4, '⚠️…'],
  ['', 5, ''],
] as const)('%j in %i columns is %j', ([text, columns, shown]) => {
  expect(cutToColumns(text, columns)).toBe(shown);
});

const TOOL: SessionView['tools'][number] = {
  name: 'read_file',
  failing: true,
  failures: 3,
  used: 2,
  running: 0,
  limit: 3,
  exhausted: false,
  last_error: 'Error: no.',
  streak: { failed: 1, same_answer: 0 },
  calls: null,
  max_calls: null,
};

const VIEW: SessionView = {
  session: {
    mode: 'redis',
    rounds: 1,
    max_rounds: null,
    calls: 12,
    max_calls: 100,
    retries_used: 5,
    retries_limit: 20,
  },
  tools: [],
  slices: {},
  calls: [],
};

test('the overview says what the session has used, and the state of each tool', () => {
  const tools: SessionView['tools'] = [
    { ...TOOL, name: 'book', failing: false, failures: 0, used: 0, limit: 1, last_error: '', calls: 3, max_calls: 5 },
    TOOL,
    { ...TOOL, name: 'search', used: 3, exhausted: true, streak: { failed: 2, same_answer: 0 } },
    { ...TOOL, name: 'status', running: 1, streak: { failed: 0, same_answer: 4 } },
  ];
  expect(formatOverview('agent_7', { ...VIEW, tools }, 100)).toBe(
    [
      'Session agent_7, stored in Redis',
      '1 round, 12 of 100 calls, 5 of 20 retries used',
      '',
      'tool       state      failed  retries  repeats     calls  last error',
      '────────────────────────────────────────────────────────────────────',
      'book       fine           0x   0 of 1             3 of 5',
      'read_file  failing        3x   2 of 3                     Error: no.',
      'search     blocked        3x   3 of 3  failed 2x          Error: no.',
      'status     1 running      3x   2 of 3  same 4x            Error: no.',
    ].join('\n'),
  );
});

test('the overview says where the numbers are not what all replicas see, and which reducer failed', () => {
  const session = { ...VIEW.session, mode: 'local', max_rounds: 25 } as const;
  expect(formatOverview('agent 7', { ...VIEW, session, slice_errors: { mood: 'Error: no' } }, 100)).toBe(
    [
      'Session agent 7, stored in this replica only: Redis is unavailable',
      '1 of 25 rounds, 12 of 100 calls, 5 of 20 retries used',
      'Reducer mood failed: Error: no',
    ].join('\n'),
  );
});

test('a journal without calls, and one that has lost its beginning, say so', () => {
  expect(formatTimeline({ calls: [] }, 80)).toBe('The journal is empty.');
  expect(formatTimeline({ calls: CALLS.slice(1) }, 80)).toMatch(
    /^\(earlier calls are no longer in the journal\)\nstep {2}/,
  );
});
