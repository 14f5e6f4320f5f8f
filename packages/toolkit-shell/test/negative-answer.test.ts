import { expect, test } from 'vitest';
import { findNegativeAnswer } from '#src/describe-failure.ts';

test.each([
  ['grep -rn zzz .', 'Nothing matched'],
  ['  egrep "a|b;c" notes.md\n', 'Nothing matched'],
  ["rg 'foo && bar' src", 'Nothing matched'],
  ['cat notes.md | sort | grep zzz', 'Nothing matched'],
  ['cd docs && grep -rn zzz . 2>/dev/null', 'Nothing matched'],
  ['cd "my notes" && grep zzz . 2>&1', 'Nothing matched'],
  ['grep "foo\\.bar$" <notes.md', 'Nothing matched'],
  ['grep foo\\;bar notes.md', 'Nothing matched'],
  ['make \\"a | grep zzz\\"', 'Nothing matched'],
  ['pgrep -f server', 'Nothing matched'],
  ['which cargo', 'Not every program was found'],
  ['command -v cargo', 'Not every program was found'],
  ['diff a b', 'They differ'],
  ['cmp -s a b', 'They differ'],
  ['test -e notes.md', 'The test is false'],
  ['[ -e notes.md ]', 'The test is false'],
])('exit code 1 of %j is an answer: %s', (command, answer) => {
  expect(findNegativeAnswer(command)).toBe(answer);
});

test.each([
  'false',
  'grepper zzz',
  'python3 grep.py',
  '"grep" zzz',
  'grep zzz . | sort',
  'grep zzz . | python3 -c "print(1); exit(1)"',
  'mkdir x 2>/dev/null && grep zzz .',
  'cd nowhere 2>/dev/null && grep zzz .',
  'cd a && cd b && grep zzz .',
  'false; grep zzz .',
  'grep zzz . ; false',
  'grep zzz . && false',
  'grep zzz . || false',
  'false || grep zzz .',
  'grep zzz . &',
  'grep zzz .\nfalse',
  'grep zzz $(false)',
  'grep "$(false | test)" .',
  'grep `false` .',
  'make # | grep zzz',
  "make 'a | grep zzz",
  "make $'a\\' | grep zzz'",
  '(grep zzz .)',
  '! grep zzz .',
  'xargs grep zzz',
  'git diff --quiet',
  'grep zzz . |& python3 x.py',
  '[[ $(true) ]]',
  '',
])('exit code 1 of %j may be a failure', (command) => {
  expect(findNegativeAnswer(command)).toBeNull();
});
