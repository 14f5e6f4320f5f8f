import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { PageList, PageTokenStore } from '#src/tools/page-tokens.ts';

/** A store, and how a test ends the time of what it keeps. */
export type PageTokensUnderTest = {
  readonly store: PageTokenStore;
  readonly expire: (ms: number) => Promise<void>;
};

export const PAGE_TTL_MS = 60_000;

/** A list that no other test has. */
export const createPageList = (parts: Partial<PageList> = {}): PageList => ({
  session: `acme:${randomUUID()}`,
  tool: 'search_drive',
  query: 'a1b2',
  ...parts,
});

/** What every store of page tokens promises. */
export const describePageTokens = (name: string, create: () => PageTokensUnderTest): void => {
  describe(`page tokens in ${name}`, () => {
    test('a page that none led to has no token', async () => {
      const { store } = create();
      expect(await store.find(createPageList(), 2)).toBeNull();
    });

    test('a token is found for its own page alone', async () => {
      const { store } = create();
      const list = createPageList();
      await store.keep(list, 2, '~!!~AI9F/V7=+');
      expect(await store.find(list, 2)).toBe('~!!~AI9F/V7=+');
      expect([await store.find(list, 1), await store.find(list, 3)]).toEqual([null, null]);
    });

    test('lists of another session, tool or query do not know it', async () => {
      const { store } = create();
      const list = createPageList();
      await store.keep(list, 2, 'mine');
      for (const other of [{ session: 'acme:other' }, { tool: 'list_emails' }, { query: 'c3' }])
        expect(await store.find({ ...list, ...other }, 2)).toBeNull();
    });

    test('texts that run into one another are different lists', async () => {
      const { store } = create();
      const list = createPageList({ tool: 'a', query: 'bc' });
      await store.keep(list, 2, 'mine');
      expect(await store.find({ ...list, tool: 'ab', query: 'c' }, 2)).toBeNull();
    });

    test('the last token of a page counts, and those of later pages stay', async () => {
      const { store } = create();
      const list = createPageList();
      await store.keep(list, 2, 'old two');
      await store.keep(list, 3, 'old three');
      await store.keep(list, 2, 'new two');
      expect([await store.find(list, 2), await store.find(list, 3)]).toEqual(['new two', 'old three']);
    });

    test('a token is found again and again until its time is over, which reading does not put off', async () => {
      const { store, expire } = create();
      const list = createPageList();
      await store.keep(list, 2, 'token');
      await expire(40_000);
      expect(await store.find(list, 2)).toBe('token');
      await expire(20_001);
      expect(await store.find(list, 2)).toBeNull();
    });

    test('keeping it again gives it its whole time again', async () => {
      const { store, expire } = create();
      const list = createPageList();
      await store.keep(list, 2, 'token');
      await expire(40_000);
      await store.keep(list, 2, 'token');
      await expire(40_000);
      expect(await store.find(list, 2)).toBe('token');
    });

    test.each([
      ['empty', ''],
      ['longer than 4 096 characters', 'x'.repeat(4097)],
      ['with a line break', 'a\nb'],
      ['with half a character', 'a\ud800'],
    ])('a token that is %s is not kept, nor the one before it', async (_what, token) => {
      const { store } = create();
      const list = createPageList();
      await store.keep(list, 2, 'before');
      await store.keep(list, 2, token);
      expect(await store.find(list, 2)).toBeNull();
    });

    test('one of 4 096 characters is kept', async () => {
      const { store } = create();
      const list = createPageList();
      await store.keep(list, 2, 'x'.repeat(4096));
      expect(await store.find(list, 2)).toBe('x'.repeat(4096));
    });

    test('a session that has ended has no pages, and others keep theirs', async () => {
      const { store } = create();
      const [ended, other] = [createPageList(), createPageList()];
      const mail = { ...ended, tool: 'list_emails' };
      for (const list of [ended, mail, other]) await store.keep(list, 2, 'token');
      await store.forget(ended.session);
      expect([await store.find(ended, 2), await store.find(mail, 2)]).toEqual([null, null]);
      expect(await store.find(other, 2)).toBe('token');
      await store.keep(ended, 2, 'anew');
      expect(await store.find(ended, 2)).toBe('anew');
    });

    test('a session that never had pages can end', async () => {
      const { store } = create();
      await expect(store.forget('acme:nobody')).resolves.toBeUndefined();
    });

    test('a session has at most 200 pages, and the one that came first goes first', async () => {
      const { store } = create();
      const list = createPageList();
      for (let page = 2; page <= 201; page += 1) await store.keep(list, page, `token-${page}`);
      await store.keep(list, 2, 'new two');
      expect(await store.find(list, 2)).toBe('new two');
      const other = { ...list, tool: 'list_emails' };
      await store.keep(other, 2, 'mail');
      const found = await Promise.all([2, 3, 201].map((page) => store.find(list, page)));
      expect(found).toEqual([null, 'token-3', 'token-201']);
      expect(await store.find(other, 2)).toBe('mail');
    });

    test('a page that was taken away and comes again is the newest', async () => {
      const { store } = create();
      const list = createPageList();
      for (let page = 2; page <= 201; page += 1) await store.keep(list, page, `token-${page}`);
      await store.keep(list, 2, '');
      await store.keep(list, 2, 'again');
      await store.keep(list, 202, 'one more');
      const found = await Promise.all([2, 3, 202].map((page) => store.find(list, page)));
      expect(found).toEqual(['again', null, 'one more']);
    });

    test('many at once keep to their own', async () => {
      const { store } = create();
      const lists = Array.from({ length: 50 }, () => createPageList());
      await Promise.all(lists.map((list, at) => store.keep(list, 2, `token-${at}`)));
      const found = await Promise.all(lists.map((list) => store.find(list, 2)));
      expect(found).toEqual(lists.map((_list, at) => `token-${at}`));
    });
  });
};
