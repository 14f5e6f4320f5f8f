import { randomBytes } from 'node:crypto';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { startProcess } from '#test/support/start-process.ts';
import type { LogLine } from '#test/support/start-service.ts';
import { makeDirectory } from '#test/tools/directory/temporary-directory.ts';
import { runBounded, TEST_MS } from './bounded-run.ts';

// Two inputs that differ only in whether they begin a registered value must give answers that differ only there: else a
// caller learns a value character by character.

const hex = randomBytes(24).toString('hex');
const SECRETS: readonly string[] = [
  hex.slice(0, 32),
  `ghp_${randomBytes(18).toString('hex')}`,
  `p"${hex.slice(3, 9)}\\ö ${hex.slice(9, 15)}/+%&=${hex.slice(15, 21)}`,
  `83${BigInt(`0x${hex}`)}`.slice(0, 24),
];

const ENVIRONMENT = Object.fromEntries(SECRETS.map((secret, place) => [`ORDERS_${place}_PASSWORD`, secret]));

const TOOLS = `
  import { defineTool, ok, RetryableToolError, z } from 'recourse';
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

/** Two texts alike but for one character: the first begins a registered value, the second begins none. */
type Pair = readonly [begins: string, begins_none: string];

const SPELLINGS: readonly ((text: string) => string)[] = [
  (text) => text,
  (text) => text,
  (text) => encodeURIComponent(text),
  (text) => JSON.stringify(text).slice(1, -1),
  (text) => text.replace(/./gu, (sign) => `\\u${(sign.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`),
  (text) => Buffer.from(text).toString('base64'),
  (text) => Buffer.from(`u:${text}`).toString('base64'),
];

// In front of what begins a value: as many characters as bring it to a place where something is cut.
const FILLS: readonly number[] = [0, 0, 1, 60, 70, 76, 90, 96, 120, 160, 176, 190, 196, 280, 480, 490, 985, 1980, 1990];
const BEHIND: readonly string[] = ['', '…', '…', '"', '-', ' and more', '\\', '%', '...', '… …', 'z'.repeat(3000)];

const LEAST = 5;

const anyPair = (secrets: readonly string[]): fc.Arbitrary<Pair> =>
  fc
    .record({
      secret: fc.constantFrom(...secrets),
      cut: fc.double({ min: 0, max: 1, noNaN: true }),
      spell: fc.constantFrom(...SPELLINGS),
      fill: fc.constantFrom(...FILLS),
      behind: fc.constantFrom(...BEHIND),
    })
    .map(({ secret, cut, spell, fill, behind }) => {
      // At least one character is left out, so that neither is the value. The last one is a letter or a digit, as the other
      // text's is: others are written in more characters. `ghp_` has to be whole, for it is part of a shape.
      let end = LEAST + Math.floor(cut * (secret.length - LEAST - 1));
      while (!/[0-9A-Za-z]/.test(secret[end - 1] ?? '0')) end -= 1;
      const begins = secret.slice(0, end);
      const last = secret[end - 1] ?? '';
      const other = last === '7' ? '8' : '7';
      const write = (text: string): string => `${'y'.repeat(fill)}${spell(text)}${behind}`;
      return [write(begins), write(`${begins.slice(0, -1)}${other}`)] as const;
    });

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

/**
 * Whether two texts are alike wherever what was sent is: each place where they differ holds characters that differ in
 * what was sent, and nothing was left out of one of them alone.
 */
const findDifference = (one: string, other: string, [begins, none]: Pair): string | null => {
  if (one.length !== other.length) return `${one.length} and ${other.length} characters:\n${one}\n${other}`;
  if (one === other) return null;
  const sent = new Set<string>();
  for (const spell of [...SPELLINGS, (text: string) => JSON.stringify(JSON.stringify(text))]) {
    const [ones, others] = [spell(begins), spell(none)];
    for (let at = 0; at < ones.length; at += 1) sent.add(`${ones[at]} ${others[at]}`);
  }
  for (let at = 0; at < one.length; at += 1)
    if (one[at] !== other[at] && !sent.has(`${one[at]} ${other[at]}`))
      return `${JSON.stringify(one.slice(at - 40, at + 40))} and ${JSON.stringify(other.slice(at - 40, at + 40))}`;
  return null;
};

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

const CATALOGUE_PAIRS = 60;

test(
  'what a tool says of itself that only begins like a secret stands in the catalogue as any other text',
  async () => {
    const sample = fc.sample(anyPair(SECRETS), { numRuns: CATALOGUE_PAIRS, seed: 7 });
    const toolOf = (name: string, side: 0 | 1): string => `{
      const texts = ${JSON.stringify(sample.map((pair) => pair[side]))};
      const properties = Object.fromEntries(texts.map((text, place) => ['p' + place,
        { type: 'string', description: text, default: text, enum: [text, 'b'], title: text }]));
      tools.push(defineTool({ name: '${name}', description: texts.join(' | '), effects: 'read',
        input: { type: 'object', properties, additionalProperties: true }, run: () => 1 }));
    }`;
    const both = `import { defineTool } from 'recourse'; export const tools = []; ${toolOf('described', 0)} ${toolOf('describes', 1)}`;
    const broken = (side: 0 | 1): string => `throw new Error(${JSON.stringify(sample[3]?.[side] ?? '')});`;
    const { root } = makeDirectory({ 'both.js': both, 'broken_0.js': broken(0), 'broken_1.js': broken(1) });
    const running = await startProcess({ by: 'node', environment: { ...ENVIRONMENT, TOOLS_DIR: root } });
    const { tools } = JSON.parse(await (await fetch(`${running.url}/tools`)).text());
    const named = (name: string) => tools.find((tool: { readonly name: string }) => tool.name === name);
    const [one, other] = [named('described'), named('describes')];
    for (const [place, pair] of sample.entries()) {
      const of = (tool: typeof one): string => JSON.stringify(tool.input_schema.properties[`p${place}`]);
      expect(findDifference(of(one), of(other), pair)).toBeNull();
    }
    expect(one.description).toHaveLength(other.description.length);
    expect(JSON.stringify(tools)).not.toContain('[redacted]');
    const reasons = tools.filter((tool: { readonly name: string }) => tool.name.startsWith('broken_'));
    expect(reasons).toHaveLength(2);
    const [first, second] = reasons.map((tool: { readonly unavailable_reason: string }) =>
      tool.unavailable_reason.replace(/^broken_\d/, 'broken'),
    );
    expect(findDifference(first, second, sample[3] ?? ['', ''])).toBeNull();
  },
  TEST_MS,
);
