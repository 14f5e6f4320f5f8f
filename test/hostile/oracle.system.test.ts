import { startProcess } from '@recourse/test-support/start-process.ts';
import type { LogLine } from '@recourse/test-support/start-service.ts';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { runBounded, TEST_MS } from './bounded-run.ts';
import { anyPair, ENVIRONMENT, findDifference, type Pair, SECRETS } from './oracle-lab.ts';

const TOOLS = `
  import { defineTool, ok, RetryableToolError, z } from 'recourse-server';
  const anything = { type: 'object', additionalProperties: true };
  const text = z.object({ text: z.string() });
  const tool = (name, input, run) => defineTool({ name, description: name, effects: 'read', input, run, retries: 1000 });
  export const tools = [
    tool('throws', text, ({ text }) => { throw Object.assign(new Error('no ' + text, { cause: new Error(text) }), { hint: text }); }),
    tool('asks_again', text, ({ text }) => { throw new RetryableToolError(text, { hint: text, value: [text] }); }),
    tool('says', text, ({ text }, { log }) => { log.info(text, { text, [text]: [text] }); return ok({ [text]: text }, 'said ' + text); }),
    tool('takes_number', z.object({ n: z.number() }), () => 1),
    tool('refuses', text.refine(() => false, { error: ({ input }) => 'not ' + input.text }), () => 1),
    tool('too_large', text, ({ text }) => 'x'.repeat(8180) + text + 'x'.repeat(2000000)),
  ];
`;

/** The ways by which a caller's text goes into a call. */
const WAYS = {
  name: (text) => ({ name: text, arguments: {} }),
  id: (text) => ({ id: text, name: 'takes_number', arguments: {} }),
  unknown_parameter: (text) => ({ name: 'takes_number', arguments: { n: 1, [text]: 1 } }),
  wrong_type: (text) => ({ name: 'takes_number', arguments: { n: text } }),
  deep: (text) => ({ name: 'refuses', arguments: { text: 1, [text]: { [text]: [text] } } }),
  no_json: (text) => ({ name: 'takes_number', arguments: `{"${text}` }),
  refused: (text) => ({ name: 'refuses', arguments: { text } }),
  value: (text) => ({ name: 'echo', arguments: { text } }),
  said: (text) => ({ name: 'says', arguments: { text } }),
  thrown: (text) => ({ name: 'throws', arguments: { text } }),
  asked_again: (text) => ({ name: 'asks_again', arguments: { text } }),
  too_large: (text) => ({ name: 'too_large', arguments: { text } }),
  path: (text) => ({ name: 'read_file', arguments: { path: text } }),
} as const satisfies Record<string, (text: string) => object>;

const KINDS = Object.values(WAYS);

// What differs between two runs of one call whatever is sent.
// Stacks, too: the first lines of a minute have them, and frames hold nothing that a caller sent.
const OF_THE_RUN =
  /^(?:time|duration_ms|reference|fingerprint|request_id|session|session_id|trace_id|req|host|step|stack|stacks_under)$/;

// Which names of tools are near the one that was sent is no secret.
const NEAR = /(?: Did you mean '\w+'\?)? Available tools: [\w, ]+/g;

const toComparable = (value: unknown): string =>
  JSON.stringify(value, (name, member: unknown) => (OF_THE_RUN.test(name) ? undefined : member)).replace(NEAR, '');

const start = async () => {
  const { root } = makeDirectory({ 'tools.js': TOOLS });
  const running = await startProcess({
    by: 'node',
    environment: {
      ...ENVIRONMENT,
      TOOLS_DIR: root,
      LOG_LEVEL: 'trace',
      SESSION_RETRIES: '100000',
      CIRCUIT_FAILURES: '0',
      MAX_EVENT_LOOP_LAG_MS: '60000',
    },
  });
  const post = async (calls: readonly object[], id: string): Promise<readonly unknown[]> => {
    const answer = await fetch(`${running.url}/tool-calls`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-request-id': id },
      body: JSON.stringify({ session_id: id, calls }),
    });
    const text = await answer.text();
    expect(answer.status, text.slice(0, 500)).toBe(200);
    return JSON.parse(text).results;
  };
  const session = async (id: string): Promise<{ readonly calls: readonly JournalLine[] }> =>
    JSON.parse(await (await fetch(`${running.url}/sessions/${id}`)).text());
  return { running, post, session };
};

type Service = Awaited<ReturnType<typeof start>>;

type JournalLine = { readonly index: number };

/** What the service says of one batch, call by call: its result, and its line of the journal. */
const observe = async ({ post, session }: Service, calls: readonly object[], id: string) => {
  const results = await post(calls, id);
  const journal: readonly JournalLine[] = (await session(id)).calls;
  return calls.map((_, index) => ({
    result: toComparable(results[index]),
    journal: toComparable(journal.find((line) => line.index === index)),
  }));
};

type Compared = { readonly ids: readonly [string, string]; readonly pairs: readonly Pair[] };

/** Equal lines are left out within a second: only those that are there for both can be compared. Gives how many were. */
const compareLogs = (lines: readonly LogLine[], compared: readonly Compared[]): number => {
  const byCall = new Map<string, string[]>();
  for (const line of lines) {
    const call = `${line['request_id']} ${line['index'] ?? line['call_id']}`;
    byCall.set(call, [...(byCall.get(call) ?? []), toComparable(line)]);
  }
  const both = compared.flatMap(({ ids, pairs }) =>
    pairs.flatMap((pair, index) => {
      const [ones = [], others = []] = ids.map((id) => byCall.get(`${id} ${index}`));
      return ones.length === others.length ? ones.map((one, place) => ({ one, other: others[place] ?? '', pair })) : [];
    }),
  );
  for (const { one, other, pair } of both) expect(findDifference(one, other, pair)).toBeNull();
  return both.length;
};

const PAIRS_PER_BATCH = 52;

test(
  'what only begins like a secret comes back as any other text, in results, sessions and the log',
  async () => {
    const service = await start();
    const compared: Compared[] = [];
    const anyBatch = fc.array(anyPair(SECRETS), { minLength: PAIRS_PER_BATCH, maxLength: PAIRS_PER_BATCH });
    await runBounded(
      fc.asyncProperty(anyBatch, async (batch) => {
        const turn = compared.length;
        const callsOf = (side: 0 | 1) =>
          batch.map((pair, place) => ({
            id: place,
            ...(KINDS[(place + turn) % KINDS.length] ?? WAYS.name)(pair[side]),
          }));
        const ids = [`oracle-begins-a-secret-${turn}`, `oracle-begins-no-secret-${turn}`] as const;
        const [begins, none] = await Promise.all([
          observe(service, callsOf(0), ids[0]),
          observe(service, callsOf(1), ids[1]),
        ]);
        compared.push({ ids, pairs: batch });
        for (const [place, pair] of batch.entries()) {
          expect(findDifference(begins[place]?.result ?? '', none[place]?.result ?? ' ', pair)).toBeNull();
          expect(findDifference(begins[place]?.journal ?? '', none[place]?.journal ?? ' ', pair)).toBeNull();
        }
      }),
    );
    const pairs = compared.length * PAIRS_PER_BATCH;
    service.running.send('SIGTERM', 'service');
    await service.running.exited;
    const lines = compareLogs(service.running.logLines(), compared);
    process.stdout.write(`oracle: ${pairs} pairs of calls and ${lines} pairs of log lines compared\n`);
    expect(pairs).toBeGreaterThan(100);
    expect(lines).toBeGreaterThan(pairs / 4);
  },
  TEST_MS,
);
