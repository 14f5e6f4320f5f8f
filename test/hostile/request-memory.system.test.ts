import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startProcess } from '@recourse/test-support/start-process.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';

const TOOLS = `import { defineTool, z } from 'recourse-server';
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
export const slow = defineTool({
  name: 'slow', description: 'Waits for an upstream.', effects: 'read', input: z.looseObject({}),
  run: async () => { await wait(20_000); return 'done'; },
});
export const build = defineTool({
  name: 'build', description: 'Takes long.', effects: 'read', background: 'always', maxDurationMs: 600_000,
  input: z.looseObject({}), run: async () => { await wait(100_000); return 'done'; },
});`;

const API_KEYS = ['acme', 'globex']
  .map((tenant) => `${tenant}=${createHash('sha256').update(`key-of-${tenant}`).digest('hex')}`)
  .join(',');

/** A service with the heap of a container of 256 MiB, and the tools above. */
const start = async () => {
  const directory = mkdtempSync(join(tmpdir(), 'recourse-memory-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  writeFileSync(join(directory, 'tools.ts'), TOOLS);
  const service = await startProcess({
    by: 'node',
    environment: { NODE_OPTIONS: '--max-old-space-size=128', TOOLS_DIR: directory, TOOL_HOSTS_MAX: '1', API_KEYS },
  });
  let exit: unknown = null;
  void service.exited.then((ended) => {
    exit = ended;
  });
  const post = async (tenant: string, body: string, headers: Readonly<Record<string, string>> = {}) => {
    const key = { 'content-type': 'application/json', 'x-api-key': `key-of-${tenant}` };
    const init = { method: 'POST', headers: { ...key, ...headers }, body };
    const answer = await fetch(`${service.url}/tool-calls`, init);
    return { status: answer.status, retryAfter: answer.headers.get('retry-after'), text: await answer.text() };
  };
  return { url: service.url, post, exit: () => exit };
};

const TEXT = 'x'.repeat(1_000_000);
const bodyOf = (name: string, args: object, id = 'a'): string =>
  JSON.stringify({ calls: [{ id, name, arguments: args }] });
const DENSE = `{"calls":[{"id":"a","name":"slow","arguments":{"list":[${'{},'.repeat(90_000)}{}]}}]}`;
const BATCH = JSON.stringify({
  calls: Array.from({ length: 20 }, (_, i) => ({ name: 'echo', arguments: { text: `${i}${'y'.repeat(40_000)}` } })),
});
const ASYNC = { prefer: 'respond-async, wait=0' };

test.each([
  ['bodies of a megabyte for a slow tool', 300, () => bodyOf('slow', { text: TEXT }), {}],
  ['bodies whose values take twenty times their text', 200, () => DENSE, {}],
  ['pending calls of a megabyte', 200, (i: number) => bodyOf('build', { text: `${i}${TEXT}` }, `c${i}`), ASYNC],
  ['batches of 0.8 MB at once', 150, () => BATCH, {}],
] as const)(
  'a heap of 128 MB stands %s, refuses what finds no room with Retry-After, and serves another tenant',
  async (_, count, toBody, headers) => {
    const { url, post, exit } = await start();
    const refused: (string | null)[] = [];
    const others = new Map<number, number>();
    const send = async (i: number): Promise<void> => {
      // The calls that wait are let go with the service.
      const answer = await post('acme', toBody(i), headers).catch(() => null);
      if (answer?.status === 503) refused.push(answer.retryAfter);
      else if (answer !== null) others.set(answer.status, (others.get(answer.status) ?? 0) + 1);
    };
    const failed: unknown[] = [];
    for (let i = 0; i < count; i += 10) {
      for (let j = i; j < i + 10; j += 1) void send(j);
      const echo = await post('globex', bodyOf('echo', { text: 'hello' }));
      if (echo.status !== 200 || !echo.text.includes('"success":true')) failed.push(echo);
    }
    await expect.poll(() => refused.length, { timeout: timeLimit(30_000), interval: 100 }).toBeGreaterThan(count / 4);
    expect([...new Set(refused)].filter((seconds) => !(Number(seconds) > 0))).toEqual([]);
    expect([...others.keys()].filter((status) => status >= 400)).toEqual([]);
    expect(failed).toEqual([]);
    expect((await fetch(`${url}/live`)).status).toBe(200);
    expect(exit()).toBeNull();
  },
  timeLimit(60_000),
);
