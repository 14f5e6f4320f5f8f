import { existsSync, readFileSync } from 'node:fs';
import { openLab } from '@recourse/test-support/isolation-lab.ts';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test, vi } from 'vitest';

const toFile = (desk: string, reconcile: string): string => `
  import { writeFileSync } from 'node:fs';
  import { setTimeout as wait } from 'node:timers/promises';
  import { defineTool, unclear } from 'recourse-server';
  const write = (name, ends) =>
    defineTool({
      name,
      description: '',
      effects: 'write',
      ${reconcile}
      input: { type: 'object', additionalProperties: true },
      run: async () => {
        writeFileSync('${desk}/' + name, String(process.pid));
        await wait(ends ? 0 : 600_000);
      },
    });
  export const tools = [write('stays', false), write('ends', true)];
`;

const RECONCILE = 'reconcile: () => unclear(),';
const TIMEOUT_MS = 1000;

/** A host in which a write stays after another one of the same time limit has ended there; its service is frozen from then on. */
const startFrozen = async (reconcile: string) => {
  const { root } = makeDirectory();
  const { load, processes } = openLab({ minHosts: 1 });
  const { call } = await load(toFile(root, reconcile));
  await call('ends', {}, TIMEOUT_MS);
  const startedAt = performance.now();
  const staying = call('stays', {}, TIMEOUT_MS);
  // Not there, or empty, before the host has written it.
  const readHost = (): number => (existsSync(`${root}/stays`) ? Number(readFileSync(`${root}/stays`, 'utf8')) : 0);
  const host = await vi.waitUntil(readHost, { timeout: timeLimit(5000), interval: 1 });
  const lives = (): boolean => processes.pids().includes(host);
  /** Gives when the host has ended; null: it lives after so many milliseconds. */
  const freeze = (ms: number): number | null => {
    for (const until = performance.now() + ms; performance.now() < until; ) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
      if (!lives()) return performance.now() - startedAt;
    }
    return null;
  };
  return { freeze, staying };
};

test('a host ends by itself over a write that is looked for, half a second after its time limit, when its service is frozen', async () => {
  const { freeze, staying } = await startFrozen(RECONCILE);
  const ended = freeze(timeLimit(5000));
  expect(ended).toBeGreaterThanOrEqual(TIMEOUT_MS + 500);
  // Whichever it hears of first: its time limit, or the end of the host.
  expect((await staying).kind).toBeOneOf(['timed_out', 'ended']);
});

test('a host goes on with a write that nobody looks for until its service ends it', async () => {
  const { freeze, staying } = await startFrozen('');
  expect(freeze(TIMEOUT_MS + 1500)).toBeNull();
  expect((await staying).kind).toBe('timed_out');
});
