import { expect, test } from 'vitest';
import { findServiceAddress } from '#src/ask-service.ts';
import { WrongUse } from '#src/command-output.ts';

const FILE = '/srv/found/.env';
const ELSEWHERE = { RECOURSE_URL: 'https://elsewhere.example' };
const KEY = { RECOURSE_API_KEY: 'mine' };
const REFUSAL = new WrongUse(
  `RECOURSE_URL comes from ${FILE}, but the API key does not: pass --url to confirm where the key is sent.`,
);
const ASKED = { url: new URL('https://elsewhere.example'), key: 'mine' };

// What a directory holds was perhaps put there by somebody else: it must not get the keys of who works in it.
test.for([
  ['a key of the environment stays here', {}, KEY, ELSEWHERE, null],
  ['a key of the command line stays here', { key: 'mine' }, {}, ELSEWHERE, null],
  ['a key of the same file goes along', {}, {}, { ...ELSEWHERE, ...KEY }, ASKED],
  ['without a key the URL counts', {}, {}, ELSEWHERE, { ...ASKED, key: null }],
  ['a file that was named counts', { envFile: FILE }, KEY, ELSEWHERE, ASKED],
  ['--url counts', { url: 'https://elsewhere.example' }, KEY, ELSEWHERE, ASKED],
  ['a URL of the environment counts', {}, { ...KEY, ...ELSEWHERE }, { RECOURSE_URL: 'https://third.example' }, ASKED],
] as const)('of a .env that names a service: %s', ([, words, before, ofFile, expected]) => {
  const loaded = { variables: { ...ofFile, ...before }, before, file: FILE, mistake: null };
  if (expected === null) expect(() => findServiceAddress(words, loaded)).toThrow(REFUSAL);
  else expect(findServiceAddress(words, loaded)).toEqual(expected);
});
