import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { toPostText } from '@recourse/test-support/raw-http.ts';
import { startProcess } from '@recourse/test-support/start-process.ts';
import * as fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import { runBounded, TEST_MS } from './bounded-run.ts';

const MIB = 1_048_576;
// Half of what such a heap and its answers come to at most; without bounds four of the requests below take as much.
const MOST_RSS = 640 * MIB;
const FILES = { 'small.txt': 100, 'middle.txt': 20_000, 'large.txt': 131_072 };

const call = fc.record({
  name: fc.constantFrom('read_file', 'echo', 'list_files', 'no_such_tool'),
  path: fc.constantFrom(...Object.keys(FILES)),
  place: fc.nat({ max: 100 }),
});
const batch = fc.record({
  calls: fc.array(call, { minLength: 1, maxLength: 64, size: 'max' }),
  format: fc.constantFrom('native', 'openai-chat', 'anthropic'),
  reader: fc.constantFrom('reads', 'reads', 'does not read', 'leaves'),
});
type Batch = typeof batch extends fc.Arbitrary<infer Value> ? Value : never;

const toBody = ({ calls, format }: Batch): string => {
  const given = calls.map(({ name, path, place }) => ({
    name,
    arguments: name === 'echo' ? { text: `\u0001${place}` } : { path, offset: place, limit: 131_072 },
  }));
  if (format === 'native') return JSON.stringify({ calls: given });
  const each = given.map((one, i) => ({ ...one, id: `c${i}` }));
  if (format === 'anthropic')
    return JSON.stringify({
      content: each.map(({ id, name, arguments: input }) => ({ type: 'tool_use', id, name, input })),
    });
  const toCall = ({ id, name, arguments: input }: (typeof each)[number]) => ({
    id,
    type: 'function',
    function: { name, arguments: JSON.stringify(input) },
  });
  return JSON.stringify({ tool_calls: each.map(toCall) });
};

const Answer = z.object({ results: z.array(z.object({ index: z.number(), success: z.boolean() })) });

test(
  'whatever is asked for, and whoever does not read it: the service lives, and every accepted call has its result',
  async () => {
    const workspace = mkdtempSync(join(tmpdir(), 'recourse-sizes-'));
    onTestFinished(() => rmSync(workspace, { recursive: true }));
    for (const [name, size] of Object.entries(FILES)) writeFileSync(join(workspace, name), '\u0001'.repeat(size));
    const service = await startProcess({
      by: 'node',
      environment: {
        NODE_OPTIONS: '--max-old-space-size=192',
        WORKSPACE_DIR: workspace,
        REQUEST_MEMORY_MB: '64',
        ANSWER_STALL_MS: '500',
        CIRCUIT_FAILURES: '0',
      },
    });
    let exit: unknown = null;
    void service.exited.then((ended) => {
      exit = ended;
    });
    const read = async (one: Batch): Promise<void> => {
      const answer = await fetch(`${service.url}/tool-calls`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: toBody(one),
      });
      const body: unknown = await answer.json();
      if (answer.status === 503) return;
      expect(answer.status).toBe(200);
      expect(Answer.parse(body).results.map(({ index }) => index)).toEqual(one.calls.map((_, index) => index));
    };
    const send = async (one: Batch, leaveAtOnce: boolean) => {
      const socket = connect({ port: service.port, host: '127.0.0.1' }).on('error', () => undefined);
      await once(socket, 'connect');
      socket.write(toPostText(toBody(one)), () => leaveAtOnce && socket.destroy());
      return socket;
    };
    await runBounded(
      fc.asyncProperty(fc.array(batch, { minLength: 1, maxLength: 12 }), async (batches) => {
        const sockets = await Promise.all(
          batches.filter(({ reader }) => reader !== 'reads').map((one) => send(one, one.reader === 'leaves')),
        );
        await Promise.all(batches.filter(({ reader }) => reader === 'reads').map(read));
        expect(exit).toBeNull();
        expect((await fetch(`${service.url}/live`)).status).toBe(200);
        expect(await readRss(service.url)).toBeLessThan(MOST_RSS);
        for (const socket of sockets) socket.destroy();
      }),
    );
  },
  TEST_MS,
);

const readRss = async (url: string): Promise<number> => {
  const metrics = await (await fetch(`${url}/metrics`)).text();
  return Number(/^process_resident_memory_bytes (\S+)$/m.exec(metrics)?.[1]);
};
