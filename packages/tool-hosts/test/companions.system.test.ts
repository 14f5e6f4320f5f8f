import { type LabFile, openLab, toOutcome } from '@recourse/test-support/isolation-lab.ts';
import type { RunOutcome } from 'recourse-server/internal/executor/deadline.ts';
import { expect, test } from 'vitest';

// A file with writes that do no harm, and a tool that ends its process, or blocks it, by what it is called with.
const FILE = `
  import { setTimeout as wait } from 'node:timers/promises';
  import { defineTool } from 'recourse-server';
  const tool = (name, effects, run) =>
    defineTool({ name, description: '', effects, input: { type: 'object', additionalProperties: true }, run });
  const work = async ({ ms }) => {
    await wait(ms);
    return 'done';
  };
  const harm = {
    exit: () => queueMicrotask(() => process.exit(7)),
    abort: () => process.abort(),
    memory: () => {
      const all = [];
      for (;;) all.push(new Array(1_000_000).fill(0.5));
    },
    loop: () => {
      for (;;);
    },
  };
  export const tools = [
    tool('pay', 'write', work),
    tool('send', 'write', work),
    tool('look', 'read', work),
    tool('poison', 'read', async ({ how }) => {
      await wait(50);
      harm[how]();
      await wait(10_000);
    }),
  ];
`;

const WRITES = 6;
const LIMIT_MS = 2000;

/** So many writes, and among them the call that ends the process; how the writes ended, and how that call did. */
const attack = async (file: LabFile, how: string, tool = 'pay'): Promise<readonly [string[], RunOutcome]> => {
  const half = Array.from({ length: WRITES / 2 }, () => file.call(tool, { ms: 300 }));
  const poison = file.call('poison', { how }, LIMIT_MS);
  const rest = Array.from({ length: WRITES / 2 }, () => file.call(tool, { ms: 300 }));
  const writes = await Promise.all([...half, ...rest]);
  return [writes.map(toWord), await poison];
};

const toWord = (ran: RunOutcome): string => {
  const end = toOutcome(ran);
  if (typeof end === 'string') return end;
  return ran.kind === 'ended' && ran.outcome.kind === 'failure' ? ran.outcome.failure.code : ran.kind;
};

const all = (word: string): string[] => Array.from({ length: WRITES }, () => word);

test.each(['exit', 'abort', 'memory', 'loop'])(
  'no write dies with another tool of its file that ends its process (%s), where a second process is at hand',
  async (how) => {
    const lab = openLab({ minHosts: 2, maxHosts: 4, memoryMb: 160 });
    const file = await lab.load(FILE);
    await expect.poll(() => lab.isolation.count('idle'), { timeout: 20_000 }).toBe(2);
    const ends = [];
    for (let round = 0; round < 2; round += 1) ends.push(await attack(file, how));
    expect(ends.map(([writes]) => writes)).toEqual([all('done'), all('done')]);
    expect(ends.map(([, poison]) => poison.kind)).not.toContain('returned');
  },
);

test.each([
  ['exit', 'was ended by another call in it'],
  ['memory', 'was ended by one of the calls in it; which one is not known'],
])(
  'with one process no write dies so twice (%s), and the first time it is told that another call did it',
  async (how, words) => {
    const lab = openLab({ minHosts: 1, maxHosts: 1, memoryMb: 160 });
    const file = await lab.load(FILE);
    await file.call('look', { ms: 1 });
    const poison = file.call('poison', { how }, 10_000);
    const [first, ...more] = await Promise.all(Array.from({ length: WRITES }, () => file.call('pay', { ms: 3000 })));
    expect([first, ...more].map((ran) => ran && toOutcome(ran))).toEqual(
      Array.from({ length: WRITES }, () => ({ code: 'interrupted', executed: 'maybe', retryAfterMs: null })),
    );
    expect(JSON.stringify(first)).toContain(words);
    expect(JSON.stringify(first)).toContain("The process in which 'pay' was running");
    expect(toWord(await poison)).toBe(how === 'exit' ? 'tool_crashed' : 'out_of_memory');
    const [[pay], [send]] = await Promise.all([attack(file, how), attack(file, how, 'send')]);
    expect([pay, send]).toEqual([all('done'), all('done')]);
  },
);

test('reads of several tools and writes of one go on sharing a process where nothing has ended one', async () => {
  const lab = openLab({ minHosts: 1, maxHosts: 1 });
  const file = await lab.load(FILE);
  await file.call('look', { ms: 1 });
  const from = performance.now();
  const ends = await Promise.all(['pay', 'send', 'look', 'pay', 'look'].map((tool) => file.call(tool, { ms: 1000 })));
  expect(ends.map(toWord)).toEqual(['done', 'done', 'done', 'done', 'done']);
  expect(performance.now() - from).toBeLessThan(2900);
  expect(lab.hostCount()).toBe(1);
});
