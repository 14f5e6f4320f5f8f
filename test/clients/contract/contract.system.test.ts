import { hash } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { findClosedPort } from '@recourse/test-support/http-target.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { defineTool } from '#src/tools/define-tool.ts';
import { RetryableToolError } from '#src/tools/tool-errors.ts';
import {
  type ClientUnderTest,
  type ContractCase,
  type Operation,
  type Outcome,
  readContract,
} from './contract-case.ts';
import { startPythonClient } from './python-client.ts';
import { type SeenRequest, startScriptedServer } from './scripted-server.ts';
import { startTypescriptClient } from './typescript-client.ts';

const CONTRACT = readContract();
const STARTERS = { typescript: startTypescriptClient, python: startPythonClient };
type Name = keyof typeof STARTERS;
const NAMES: readonly Name[] = ['typescript', 'python'];

/** What came of a case with one client. */
type Ran = {
  readonly operations: readonly Operation[];
  readonly outcomes: readonly Outcome[] | Error;
  readonly requests: readonly SeenRequest[];
};

const NOT_RUN: Ran = { operations: [], outcomes: new Error('The case was not run.'), requests: [] };
const CASES: readonly ContractCase[] = [...CONTRACT.scripted, ...CONTRACT.service];

const TOOLS = [
  defineTool({
    name: 'double',
    description: 'Doubles a number.',
    effects: 'read',
    retries: 1,
    input: z.object({ number: z.number() }),
    run: ({ number }) => {
      if (number > 1000) throw new RetryableToolError('The number is too large.', { hint: 'Take one up to 1000.' });
      return { number: number * 2 };
    },
  }),
  defineTool({
    ...{ name: 'build', description: 'Builds for a while.', effects: 'read', background: 'optional' },
    input: z.object({ takes_ms: z.number() }),
    run: async ({ takes_ms: takesMs }, { part, signal }) => {
      part('building');
      await setTimeout(takesMs, undefined, { signal });
      return 'built';
    },
  }),
  defineTool({
    ...{ name: 'failing', description: 'Fails.', effects: 'read', gracefulErrors: false, input: z.object({}) },
    run: () => {
      throw new Error('no');
    },
  }),
];

const clients = new Map<Name, ClientUnderTest>();
const ran = new Map<string, Ran>();
let closed: string;

const clientOf = (name: Name): ClientUnderTest => {
  const client = clients.get(name);
  if (client === undefined) throw new Error(`${name} was not started.`);
  return client;
};

/** The case as it stands with its placeholders filled in. */
const fill = <T>(value: T, words: Readonly<Record<string, string>>): T =>
  JSON.parse(JSON.stringify(value), (_name, inner: unknown) => {
    if (typeof inner === 'string') return inner.replace(/\{(\w+)\}/g, (whole, word: string) => words[word] ?? whole);
    const repeated = Repeated.safeParse(inner);
    return repeated.success ? repeated.data.$repeat[0].repeat(repeated.data.$repeat[1]) : inner;
  });
const Repeated = z.strictObject({ $repeat: z.tuple([z.string(), z.number()]) });

/** Runs cases with a client, all at the same time. */
const runAll = async (name: Name, cases: readonly ContractCase[], urlOf: UrlOf): Promise<readonly Ran[]> => {
  const client = clientOf(name);
  runs += 1;
  // Sessions and keys of their own for each run.
  const words = { client: `${name}-${runs}`, closed };
  return Promise.all(
    cases.map(async (one, place) => {
      const { operations, client: options = {}, url } = fill(one, words);
      const outcomes = await client.run({ url: urlOf(place, url), operations, client: options }).catch(toError);
      return { operations, outcomes, requests: [] };
    }),
  );
};
type UrlOf = (place: number, url: string | undefined) => string;
let runs = 0;

const toError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));

const runScripted = async (name: Name, cases: readonly ContractCase[]): Promise<readonly Ran[]> => {
  const server = await startScriptedServer(cases, CONTRACT.bodies);
  const all = await runAll(name, cases, (place, url) => url ?? server.urlOf(place));
  await server.stop();
  return all.map((one, place) => ({ ...one, requests: server.requestsOf(place) }));
};

const runAtService = (name: Name, cases: readonly ContractCase[]): Promise<readonly Ran[]> =>
  runAll(name, cases, (_place, url) => (url === undefined ? service.url : guarded.url));

// What watches a clock comes by itself, when all else is done: on a busy machine the others would take its time.
const isTimed = (one: ContractCase): boolean => JSON.stringify(one).includes('timeout_ms');
const GROUPS: readonly (readonly ContractCase[])[] = [
  CONTRACT.scripted.filter((one) => !isTimed(one)),
  CONTRACT.service,
  CONTRACT.scripted.filter(isTimed),
];

const runGroup = (name: Name, group: readonly ContractCase[]): Promise<readonly Ran[]> =>
  group === CONTRACT.service ? runAtService(name, group) : runScripted(name, group);

let service: RunningService;
let guarded: RunningService;

beforeAll(async () => {
  closed = `http://127.0.0.1:${await findClosedPort()}`;
  service = await startService({}, TOOLS);
  guarded = await startService({ API_KEYS: `acme=${hash('sha256', 'a-key-of-thirty-two-characters-x')}` }, TOOLS);
  const running = NAMES.map(async (name) => {
    clients.set(name, STARTERS[name]());
    for (const group of GROUPS)
      for (const [place, result] of (await runGroup(name, group)).entries())
        ran.set(`${name} ${group[place]?.name}`, result);
  });
  await Promise.all(running);
}, timeLimit(60_000));

/** What came of a case among all others; of a second try by vitest, what comes of it alone. */
const take = async (name: Name, one: ContractCase): Promise<Ran> => {
  const key = `${name} ${one.name}`;
  const known = ran.get(key);
  ran.delete(key);
  if (known !== undefined) return known;
  const [alone] = await (CONTRACT.scripted.includes(one) ? runScripted : runAtService)(name, [one]);
  return alone ?? NOT_RUN;
};

afterAll(async () => {
  for (const client of clients.values()) await client.stop();
  await service.stop();
  await guarded.stop();
});

/** What the file says of a value as what `toMatchObject` takes: lists are whole, objects may have more. */
const toExpected = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(toExpected);
  if (typeof value !== 'object' || value === null) return value;
  if ('$above' in value) return expect.toSatisfy((number) => number > Number(value.$above), `above ${value.$above}`);
  if ('$begins' in value)
    return expect.toSatisfy((text) => String(text).startsWith(String(value.$begins)), `begins with ${value.$begins}`);
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, toExpected(inner)]));
};

const check = (operation: Operation, outcome: Outcome | undefined): void => {
  const { returns, raises, refuses } = operation;
  const expected = Object.entries({ returns, raises, refuses }).filter(([, value]) => value !== undefined);
  const wanted = expected.length === 0 ? [['returns', null]] : expected;
  expect(outcome).toMatchObject(Object.fromEntries(wanted.map(([name, value]) => [name, toExpected(value)])));
  expect(outcome?.elapsed_ms).toBeGreaterThanOrEqual(operation.at_least_ms ?? 0);
  expect(outcome?.elapsed_ms).toBeLessThanOrEqual(operation.at_most_ms ?? 60_000);
};

const checkRequests = ({ requests, sent, same }: ContractCase, seen: readonly SeenRequest[]): void => {
  const { from, to } = typeof sent === 'object' ? sent : { from: sent ?? 0, to: sent ?? 1_000 };
  expect(seen.length).toBeGreaterThanOrEqual(from);
  expect(seen.length).toBeLessThanOrEqual(to);
  for (const [place, { body, query, ...request }] of (requests ?? []).entries()) {
    expect(seen[place]).toMatchObject(request);
    if (query !== undefined) expect(seen[place]?.query).toEqual(query);
    if (body !== undefined) expect(seen[place]?.body).toEqual(body);
  }
  if (same !== true) return;
  const attempts = seen.map(({ method, path, headers, text }) => [
    ...[method, path, text, headers['idempotency-key'], headers['x-request-id']],
  ]);
  expect(new Set(attempts.map((attempt) => JSON.stringify(attempt))).size).toBe(1);
  expect(attempts[0]?.[3]).toMatch(/^[0-9a-f-]{36}$/);
};

describe.each(NAMES)('the client in %s', (name) => {
  test.each(CASES.map((one) => [one.name, one] as const))('%s', async (_name, one) => {
    const { operations, outcomes, requests } = await take(name, one);
    if (outcomes instanceof Error) throw outcomes;
    for (const [place, operation] of operations.entries()) check(operation, outcomes[place]);
    checkRequests(one, requests);
    const key = String(one.client?.['api_key'] ?? '').trim();
    if (key === '') return;
    for (const { printed, client } of outcomes) expect(`${printed} ${client}`).not.toContain(key);
  });

  test('Retry-After is read as the table says', async () => {
    const { now, table } = CONTRACT.retry_after;
    const client = clientOf(name);
    const read = table.map(async ([text]) => [text, await client.toRetryAfterMs(text, Date.parse(now))]);
    expect(await Promise.all(read)).toEqual(table);
  });

  test('waits are as long as the table says', async () => {
    const client = clientOf(name);
    const waits = CONTRACT.waits.map(async ([attempts, asked, random]) => [
      ...[attempts, asked, random],
      await client.toWaitMs(attempts, asked, random),
    ]);
    expect(await Promise.all(waits)).toEqual(CONTRACT.waits);
  });
});
