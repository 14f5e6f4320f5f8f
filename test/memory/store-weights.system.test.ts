import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { FROM_SOURCES } from '@recourse/test-support/node-flags.ts';
import { cleanEnvironment, ROOT } from '@recourse/test-support/start-process.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';
import * as z from 'zod';

const Filled = z.object({ entries: z.number(), claimed: z.number(), taken: z.number() });
const FILL_TIMEOUT_MS = timeLimit(120_000);

const fill = async (store: string) => {
  const { stdout } = await promisify(execFile)(
    'node',
    [...FROM_SOURCES, '--expose-gc', 'test/support/fill-store.ts', store],
    {
      cwd: ROOT,
      env: cleanEnvironment({}),
      timeout: FILL_TIMEOUT_MS,
    },
  );
  return Filled.parse(JSON.parse(stdout));
};

test.each([
  'sessions',
  'sessions of one call',
  'sessions that failed in named rounds',
  'sessions of refused calls',
  'journals',
  'journals of two bytes a character',
  'marks',
  'results',
  'pages',
  'rates',
  'circuits',
])(
  'a full store claims at least what the heap has grown by, and not much more: %s',
  async (store) => {
    const { entries, claimed, taken } = await fill(store);
    expect(entries).toBeGreaterThan(500);
    expect(taken).toBeGreaterThan(1_000_000);
    expect(claimed / taken).toBeGreaterThanOrEqual(1);
    expect(claimed / taken).toBeLessThanOrEqual(1.5);
  },
  FILL_TIMEOUT_MS,
);
