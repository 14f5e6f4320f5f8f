import { expect, test } from 'vitest';
import { baseAddress } from '#src/extensions/setting-kinds.ts';

test.each(['http://127.0.0.1:9', 'https://gateway/google'])('%s is a base address', (address) => {
  expect(baseAddress.parse(address)).toBe(address);
});

test.each([
  'googleapis.com',
  'ftp://slack.com',
  'http://user:pass@gateway',
  'http://gateway/?key=1',
  'http://gateway/#a',
])('%s is none', (address) => {
  expect(baseAddress.safeParse(address).error?.issues.map(({ message }) => message)).toEqual([
    'must be an http:// or https:// address without user name, query or fragment',
  ]);
});
