import { writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test, vi } from 'vitest';
import type { IndexNews } from '#src/index-messages.ts';
import {
  createIndexKeeper,
  createPace,
  INDEX_LIMITS,
  type IndexLimits,
  type KeeperTiming,
  openNoteIndex,
} from '#src/indexing/note-index.ts';
import { startNotesLab } from './notes-lab.ts';

const ALL = { folder: '.', offset: 0, limit: 10 } as const;
const DAY_MS = 86_400_000;

const startKeeper = (timing: KeeperTiming, limits: IndexLimits = INDEX_LIMITS) => {
  const notices: string[] = [];
  const report = (news: IndexNews): void => {
    if (news.kind === 'notice') notices.push(news.notice);
  };
  const open = (root: string) => openNoteIndex({ root, access: 'descriptors' }, { limits, pace: createPace(), report });
  return { notices, keeper: createIndexKeeper(open, timing) };
};

test('a call after a long time of rest sees what the disk holds now', async () => {
  await using lab = await startNotesLab({ 'a.md': 'alpha' });
  const { keeper } = startKeeper({ maxAgeMs: 0, intervalMs: DAY_MS, idleAfterMs: -1 });
  const paths = async () => (await keeper.freshIndex(lab.root)).database.list(ALL).map(({ path }) => path);
  expect(await paths()).toEqual(['a.md']);
  await lab.write('b.md', 'beta');
  expect((await paths()).toSorted()).toEqual(['a.md', 'b.md']);
  await rm(lab.at('a.md'));
  expect(await paths()).toEqual(['b.md']);
});

test('while it is used it is kept fresh, and no call waits for that', async () => {
  await using lab = await startNotesLab({ 'a.md': 'alpha' });
  const { keeper } = startKeeper({ maxAgeMs: DAY_MS, intervalMs: 20, idleAfterMs: 2000 });
  const index = await keeper.freshIndex(lab.root);
  await lab.write('b.md', 'beta');
  // Nothing is asked for: the index is looked into as it stands.
  await vi.waitFor(() => expect(index.database.list(ALL)).toHaveLength(2), {
    timeout: timeLimit(15_000),
    interval: 20,
  });
});

test('text beyond what is indexed is left out, and said; titles are found all the same', async () => {
  await using lab = await startNotesLab({
    'a.md': `# First\n${'word '.repeat(20)}`,
    'b.md': `# Second\n${'word '.repeat(20)}`,
  });
  const timing = { maxAgeMs: DAY_MS, intervalMs: DAY_MS, idleAfterMs: -1 };
  const { keeper, notices } = startKeeper(timing, { ...INDEX_LIMITS, maxTotalBytes: 150 });
  const { database } = await keeper.freshIndex(lab.root);
  const count = (text: string) =>
    database.search({ terms: [{ text, isPrefix: false }], wantsAny: false }, ALL).rows.length;
  expect([count('word'), count('first'), count('second')]).toEqual([1, 1, 1]);
  expect(notices).toEqual(['too_much_text']);
});

test('a note that changes twice within one tick of the clock is read again', async () => {
  await using lab = await startNotesLab({ 'a.md': 'word0' });
  const { keeper } = startKeeper({ maxAgeMs: 0, intervalMs: DAY_MS, idleAfterMs: -1 });
  const index = await keeper.freshIndex(lab.root);
  for (let count = 1; count < 10; count += 1) {
    const text = `word${count}`;
    writeFileSync(lab.at('a.md'), text);
    await index.update();
    expect(index.database.search({ terms: [{ text, isPrefix: false }], wantsAny: false }, ALL).rows).toHaveLength(1);
  }
});
