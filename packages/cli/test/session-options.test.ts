import { runInProcess } from '@recourse/test-support/run-in-process.ts';
import { expect, test } from 'vitest';
import { createSessionRequest } from '#src/session-command.ts';

const DEFAULTS = { id: 'agent_7', url: new URL('http://127.0.0.1:8080'), key: null };

test.for([
  ['the id alone', { ids: ['agent_7'] }, {}, {}],
  ['empty variables', { ids: ['agent_7'] }, { RECOURSE_URL: '', RECOURSE_API_KEY: '' }, {}],
  [
    'variables',
    { ids: ['agent_7'] },
    { RECOURSE_URL: 'https://tools.example/x', RECOURSE_API_KEY: 'k' },
    { url: new URL('https://tools.example/x'), key: 'k' },
  ],
  [
    'words, which beat variables',
    { ids: ['agent_7'], url: 'http://[::1]:9', key: 'mine' },
    { RECOURSE_URL: 'https://tools.example', RECOURSE_API_KEY: 'k' },
    { url: new URL('http://[::1]:9'), key: 'mine' },
  ],
  ['an id with blanks and slashes', { ids: ['team a/7'] }, {}, { id: 'team a/7' }],
] as const)('%s', ([, words, environment, expected]) => {
  const loaded = { variables: environment, before: environment, file: null, mistake: null };
  const { id, address } = createSessionRequest(words, loaded);
  expect({ id, ...address }).toEqual({ ...DEFAULTS, ...expected });
});

const NO_URL = '--url (or RECOURSE_URL) must be a URL such as http://127.0.0.1:8080.';

test.for([
  ['nothing', [], 'The session id is missing.'],
  ['an empty id', [''], 'The session id is missing.'],
  ['two ids', ['a', 'b'], 'Name one session; quote an id that contains spaces.'],
  ['two dots', ['..'], "The session id '..' cannot be written into a URL."],
  ['no URL', ['a', '--url', '8080'], NO_URL],
  ['another scheme', ['a', '--url', 'ftp://x'], NO_URL],
  ['a password in the URL', ['a', '--url', 'http://u:p@x'], NO_URL],
  ['a key with a line break', ['a', '--key', 'x\ny'], 'The API key must be printable ASCII without spaces.'],
  ['an option that is none', ['a', '--wat'], "unknown option '--wat'"],
  ['an option without its value', ['a', '--url'], "option '--url <url>' argument missing"],
] as const)('%s is said to be wrong', async ([, words, problem]) => {
  expect(await runInProcess(['session', ...words])).toEqual({
    end: 2,
    stdout: '',
    stderr: `recourse: ${problem}\nRun recourse session --help for its arguments and options.\n`,
  });
});

test('an id that begins with a hyphen is read behind two hyphens', async () => {
  const { end, stderr } = await runInProcess(['session', '--url', 'http://127.0.0.1:1', '--', '-x']);
  expect([end, stderr]).toEqual([
    1,
    expect.stringMatching(/^The service at http:\/\/127\.0\.0\.1:1 cannot be reached/),
  ]);
});

test('help is given whatever else is asked for', async () => {
  for (const words of [['--help', 'a', 'b', '--url', 'no'], ['-h']]) {
    const { end, stdout } = await runInProcess(['session', ...words]);
    expect([end, stdout.startsWith('Usage: recourse session <id> [options]')]).toEqual([0, true]);
  }
});
