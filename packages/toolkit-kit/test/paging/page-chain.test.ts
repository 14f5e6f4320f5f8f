import { failureOf } from '@recourse/test-support/http-target.ts';
import { createMemoryPageTokens } from '@recourse/test-support/memory-page-tokens.ts';
import { roomyMemory } from '@recourse/test-support/roomy-memory.ts';
import { RetryableToolError } from 'recourse-server/internal/tools/tool-errors.ts';
import { expect, test } from 'vitest';
import { answerPage } from '#src/page-answers.ts';
import { answerChainedPage } from '#src/paging/page-chain.ts';

const createTokens = () => createMemoryPageTokens({ memory: roomyMemory(), ttlMs: 60_000, now: () => 1 });

type Parts = { readonly query?: object; readonly session?: string | null; readonly verb?: 'Search' | 'List' };

/** A list of which any page can be read, with a token for the next one. */
const open = (
  tokens = createTokens(),
  { query, session = 'acme:1', verb = 'Search' }: Parts = {},
  tool = 'search_drive',
) => {
  const answer = (page: number, nextToken: string | null | undefined, onToken: (token: string | undefined) => void) =>
    answerChainedPage({
      ...{ words: { one: 'file', many: 'files' }, key: 'files', tokens, tool, verb, page },
      query: { query: 'plan', ...query },
      context: { session },
      read: async (token) => {
        onToken(token);
        return { items: ['a'], nextToken };
      },
    });
  return {
    tokenOf: async (page: number): Promise<string | undefined> => {
      let found: string | undefined;
      await answer(page, null, (token) => {
        found = token;
      });
      return found;
    },
    keepNext: async (page: number, nextToken: string | null | undefined): Promise<unknown> =>
      answer(page, nextToken, () => undefined),
  };
};

const MORE = { has_more: true };

test('page 1 needs no token', async () => {
  expect(await open().tokenOf(1)).toBeUndefined();
  expect(await open(createTokens(), { session: null }).tokenOf(1)).toBeUndefined();
});

test.each([
  ['Search', 'Page 5 not available. Search from page 1 first.'],
  ['List', 'Page 5 not available. List from page 1 first.'],
] as const)('%s: a page that none led to is a retry that says how to begin', async (verb, message) => {
  const chain = open(createTokens(), { verb });
  expect(await chain.keepNext(1, 'two')).toMatchObject(MORE);
  const failure = await failureOf(chain.tokenOf(5));
  expect(failure).toBeInstanceOf(RetryableToolError);
  expect(failure).toMatchObject({ message, hint: 'Read the pages in order, and send the same arguments with each.' });
});

test('each page leads to the next one', async () => {
  const tokens = createTokens();
  expect(await open(tokens).keepNext(1, 'two')).toMatchObject(MORE);
  expect(await open(tokens).tokenOf(2)).toBe('two');
  expect(await open(tokens).keepNext(2, 'three')).toMatchObject(MORE);
  expect(await open(tokens).tokenOf(3)).toBe('three');
});

test.each([undefined, null, ''])('a page that comes with %j is the last one', async (token) => {
  const chain = open();
  expect(await chain.keepNext(1, token)).toMatchObject({ has_more: false });
  await expect(chain.tokenOf(2)).rejects.toThrow('Page 2 not available.');
});

test.each([
  ['other arguments', { query: { query: 'plans' } }],
  ['one argument more', { query: { owner: 'me' } }],
  ['another session', { session: 'acme:2' }],
])('a chain of %s is another one', async (_what, parts) => {
  const tokens = createTokens();
  await open(tokens).keepNext(1, 'two');
  await expect(open(tokens, parts).tokenOf(2)).rejects.toThrow('Search from page 1 first.');
});

test('the order of arguments, at any depth, and those that are not there make no difference', async () => {
  const tokens = createTokens();
  await open(tokens, { query: { a: 1, b: { c: [1, 2], d: 'x' }, e: undefined } }).keepNext(1, 'two');
  expect(await open(tokens, { query: { b: { d: 'x', c: [1, 2] }, a: 1 } }).tokenOf(2)).toBe('two');
  await expect(open(tokens, { query: { b: { d: 'x', c: [2, 1] }, a: 1 } }).tokenOf(2)).rejects.toThrow('not available');
});

test('tools do not know each other’s pages', async () => {
  const tokens = createTokens();
  await open(tokens).keepNext(1, 'two');
  const other = open(tokens, { verb: 'List' }, 'list_emails');
  await expect(other.tokenOf(2)).rejects.toThrow('List from page 1 first.');
});

test('who reads page 1 again takes no page away from another who is further', async () => {
  const tokens = createTokens();
  await open(tokens).keepNext(1, 'two');
  await open(tokens).keepNext(2, 'three');
  await open(tokens).keepNext(1, 'new two');
  expect([await open(tokens).tokenOf(2), await open(tokens).tokenOf(3)]).toEqual(['new two', 'three']);
});

test('without a session there is more, and no page of it', async () => {
  const chain = open(createTokens(), { session: null });
  expect(await chain.keepNext(1, 'two')).toMatchObject(MORE);
  await expect(chain.tokenOf(2)).rejects.toThrow(
    'Page 2 not available. Pages need a session, and this call has none: narrow the search.',
  );
  await expect(open(createTokens(), { session: null, verb: 'List' }).tokenOf(2)).rejects.toThrow(
    'Page 2 not available. Pages need a session, and this call has none: only page 1 can be listed.',
  );
});

test.each([
  ['is too long', 'x'.repeat(5000)],
  ['has a control character', 'a\u0000b'],
  ['is not ASCII', 'größer'],
])('a token that %s still says that there is more, and that no page of it can be had', async (_what, token) => {
  const chain = open();
  expect(await chain.keepNext(1, token)).toMatchObject({
    display: '1 file found on page 1. There are more, but no further page is available.',
    has_more: true,
  });
  await expect(chain.tokenOf(2)).rejects.toThrow('Page 2 not available. Search from page 1 first.');
});

test.each([
  [true, '1 file found on page 1. More on page 2.'],
  [undefined, '1 file found on page 1. More on page 2.'],
  [false, '1 file found on page 1. There are more, but further pages need a session.'],
  ['until_here', '1 file found on page 1. There are more, but no further page is available.'],
] as const)('what is said of more where pages are kept: %j', (keepsPages, display) => {
  const words = { one: 'file', many: 'files' };
  const list = { words, key: 'files', items: ['a'], page: 1, hasMore: true };
  expect(answerPage(keepsPages === undefined ? list : { ...list, keepsPages })).toEqual({
    display,
    count: 1,
    page: 1,
    has_more: true,
    files: ['a'],
  });
});
