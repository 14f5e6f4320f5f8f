import { expect, test } from 'vitest';
import { readOptions } from '../../scripts/session/read-options.ts';

const DEFAULTS = { id: 'agent_7', url: new URL('http://127.0.0.1:8080'), key: null, format: 'table' };

test.for([
  ['the id alone', ['agent_7'], {}, {}],
  ['empty variables', ['agent_7'], { RECOURSE_URL: '', RECOURSE_API_KEY: '' }, {}],
  [
    'variables',
    ['agent_7'],
    { RECOURSE_URL: 'https://tools.example/x', RECOURSE_API_KEY: 'k' },
    { url: new URL('https://tools.example/x'), key: 'k' },
  ],
  [
    'words, which beat variables',
    ['--url', 'http://[::1]:9', 'agent_7', '--key=mine', '--json'],
    { RECOURSE_URL: 'https://tools.example', RECOURSE_API_KEY: 'k' },
    { url: new URL('http://[::1]:9'), key: 'mine', format: 'json' },
  ],
  ['an id that begins with a hyphen', ['--', '-x'], {}, { id: '-x' }],
  ['an id with blanks and slashes', ['team a/7'], {}, { id: 'team a/7' }],
] as const)('%s', ([, words, environment, expected]) => {
  expect(readOptions(words, environment)).toEqual({ kind: 'show', options: { ...DEFAULTS, ...expected } });
});

test.for([
  ['nothing', [], 'Which session? Its id is missing.'],
  ['an empty id', [''], 'Which session? Its id is missing.'],
  ['two ids', ['a', 'b'], 'One session at a time; put an id with blanks into quotes.'],
  ['two dots', ['..'], "A session called '..' cannot be named in a URL."],
  ['no URL', ['a', '--url', '8080'], '--url (or RECOURSE_URL) must be a URL such as http://127.0.0.1:8080.'],
  ['another scheme', ['a', '--url', 'ftp://x'], '--url (or RECOURSE_URL) must be a URL such as http://127.0.0.1:8080.'],
  [
    'a password in the URL',
    ['a', '--url', 'http://u:p@x'],
    '--url (or RECOURSE_URL) must be a URL such as http://127.0.0.1:8080.',
  ],
  ['a key with a line break', ['a', '--key', 'x\ny'], 'The API key must be printable ASCII without blanks.'],
  ['an option that is none', ['a', '--wat'], expect.stringContaining("Unknown option '--wat'")],
  ['an option without its value', ['a', '--url'], expect.stringContaining("'--url <value>' argument missing")],
] as const)('%s is said to be wrong', ([, words, problem]) => {
  expect(readOptions(words, {})).toEqual({ kind: 'wrong', problem });
});

test('help is given whatever else is asked for', () => {
  expect(readOptions(['--help', 'a', 'b', '--url', 'no'], {})).toEqual({ kind: 'help' });
  expect(readOptions(['-h'], {})).toEqual({ kind: 'help' });
});
