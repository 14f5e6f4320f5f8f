import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createFolder, startConfigLab } from '@recourse/test-support/config-lab.ts';
import { watchHostProcesses } from '@recourse/test-support/host-processes.ts';
import { answering, startHttpTarget } from '@recourse/test-support/http-target.ts';
import {
  createActor,
  createKeyedClient,
  fail,
  freshName,
  type KeyedClient,
  whenConnected,
} from '@recourse/test-support/keyed-client.ts';
import { servers } from '@recourse/test-support/mcp-servers/mcp-lab.ts';
import { startRedisServer } from '@recourse/test-support/redis-server.ts';
import { connectToRedis } from '@recourse/test-support/session-stores-under-test.ts';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { IN_BACKGROUND } from '@recourse/test-support/watch-commands.ts';
import { expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import { isRecord } from '#src/contract/json-record.ts';
import type { JsonSchema, ToolDescription } from '#src/contract/tool-description.ts';

// A dry run has no effect but its preview: files, sockets, processes, keys of the store, journals, budgets and counts are the same after
// a thousand of them, over all tools that a service can have.

const RUNS = 1000;
const CALLS_OF_A_BATCH = 20;

/** What is in a directory: of each file its size, its time of change, and its content. */
const lookAtFiles = (root: string): readonly string[] =>
  readdirSync(root, { recursive: true, withFileTypes: true }).map((entry) => {
    const path = join(entry.parentPath, entry.name);
    const { mtimeNs, size } = statSync(path, { bigint: true });
    const content = entry.isFile() ? createHash('sha256').update(readFileSync(path)).digest('hex') : '';
    return [path, size, mtimeNs, content].join(' ');
  });

/** The processes that this one has started, and those that they have, without tool hosts: a slow check may start a further one. */
const lookAtProcesses = (hosts: readonly number[]): readonly string[] => {
  const stats = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const [, state = '', parent = ''] = /\) (\S) (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'latin1')) ?? [];
        return state === 'Z' ? [] : [{ pid, parent }];
      } catch (_gone) {
        return [];
      }
    });
  const childrenOf = (parent: string): readonly string[] =>
    stats.filter((one) => one.parent === parent).flatMap(({ pid }) => [pid, ...childrenOf(pid)]);
  return childrenOf(String(process.pid))
    .filter((pid) => !hosts.includes(Number(pid)))
    .toSorted();
};

// Of requests, of this process and its hosts, how long checks waited for a host, what dry runs themselves are counted in, and what is
// read by the clock: the queue, whose keys are looked at, and ages.
const COUNTED_ELSEWHERE =
  /^#|^(process|nodejs)_|^recourse_(dry_runs|http_|event_loop|request_memory|memory_|store_memory|session_store_(?:operation|memory)|tool_host|tool_process|jobs_waiting|jobs_oldest|approval_oldest|tool_call_queue_seconds_\w+\{pool="process")/;

const lookAtMetrics = async (url: string): Promise<readonly string[]> =>
  (await (await fetch(`${url}/metrics`)).text())
    .split('\n')
    .filter((line) => line !== '' && !COUNTED_ELSEWHERE.test(line));

/** A value that a schema may take, or may not. */
const guess = (schema: unknown, at: number, upstream: string): unknown => {
  if (!isRecord(schema)) return at;
  const { type, properties, default: usual, enum: words, anyOf } = schema;
  if (Array.isArray(words)) return words[at % words.length];
  if (Array.isArray(anyOf)) return guess(anyOf[at % anyOf.length], at, upstream);
  if (isRecord(properties)) return guessMembers(properties, at, upstream);
  if (usual !== undefined && at % 2 === 0) return usual;
  switch ([type].flat()[0]) {
    case 'string':
      return [`notes-${at % 7}.md`, `${upstream}/page`, 'touch made-by-a-dry-run', 'x'][at % 4];
    case 'integer':
    case 'number':
      return at % 5;
    case 'boolean':
      return at % 2 === 0;
    case 'array':
      return [guess(schema['items'], at + 1, upstream)];
    default:
      return {};
  }
};

const guessMembers = (properties: JsonSchema, at: number, upstream: string) =>
  Object.fromEntries(Object.entries(properties).map(([name, member], n) => [name, guess(member, at + n, upstream)]));

const HOSTED = (desk: string): string => `
  import { spawn } from 'node:child_process';
  import { readdirSync, writeFileSync } from 'node:fs';
  import { defineTool, z } from 'recourse-server';
  const act = (word) => {
    writeFileSync('${desk}/' + word + '-' + process.hrtime.bigint(), word);
    spawn('sleep', ['600'], { stdio: 'ignore', detached: true }).unref();
  };
  export const send = defineTool({
    name: 'send',
    description: 'Sends, in its own process.',
    effects: 'write',
    input: z.object({ to: z.string(), copies: z.number().default(1) }),
    run: () => act('sent'),
    reconcile: () => act('looked'),
    approval: ({ copies }) => (copies > 3 ? 'allow' : 'ask'),
    preview: ({ to, copies }) => ({ would_send: copies, to, already: readdirSync('${desk}').length }),
  });
  export const tidy = defineTool({
    name: 'tidy',
    description: 'Has no preview.',
    effects: 'idempotent',
    input: { type: 'object', properties: { days: { type: 'integer' } }, required: ['days'] },
    setup: () => act('set up'),
    run: () => act('tidied'),
  });
`;

const BANK = {
  openapi: '3.1.0',
  info: { title: 'Shop', version: '1' },
  paths: {
    '/orders': {
      post: {
        operationId: 'order',
        requestBody: {
          required: true,
          content: { 'application/json': { schema: { type: 'object', properties: { amount: { type: 'integer' } } } } },
        },
      },
      get: { operationId: 'list', parameters: [{ name: 'reference', in: 'query', schema: { type: 'string' } }] },
    },
  },
};

const POLICIES = {
  rules: [
    { name: 'orders_of_session', tools: 'slow|shop_order', sum: 1, max: 4, per: 'session' },
    { name: 'all_of_tenant', tools: '*', sum: 1, max: 100_000, per: 'tenant', window: '24h' },
    { name: 'echo_first', tools: 'tidy', requires: { success_of: 'echo', within: '24h' } },
  ],
  approvals: { rules: [{ tools: 'bank_pay|shop_order', decide: 'ask' }] },
};

/** Calls that a person has to approve: by the file, and by the tool's own word. */
const ASKING = [
  { name: 'bank_pay', arguments: { reference: 'r', account: 1, lost: false } },
  { name: 'shop_order', arguments: { amount: 5 } },
  // With a default.
  { name: 'send', arguments: { to: 'a' } },
];

/** A store, and a look at everything in it. */
type Store = {
  readonly environment: Readonly<Record<string, string>>;
  readonly look: () => Promise<unknown>;
  readonly outlivesService: boolean;
};

/** Deletes of a copy what processes write in their own time. */
const deleteBackground = (database: DatabaseSync): void => {
  for (const { id, key } of database.prepare('SELECT id, key FROM record').all()) {
    if (!IN_BACKGROUND.test(String(key))) continue;
    for (const of of ['field', 'element']) database.prepare(`DELETE FROM ${of} WHERE record = ?`).run(Number(id));
    database.prepare('DELETE FROM record WHERE id = ?').run(Number(id));
  }
};

const STORES: Readonly<Record<string, () => Promise<Store>>> = {
  memory: async () => ({ environment: {}, look: async () => null, outlivesService: false }),
  sqlite: async () => {
    const path = join(await createFolder(), 'store.db');
    return {
      environment: { STORE: `sqlite:${path}` },
      outlivesService: true,
      look: async () => {
        // The service alone may open the file.
        const copy = join(await createFolder(), 'copy.db');
        for (const end of ['', '-wal']) if (existsSync(path + end)) copyFileSync(path + end, copy + end);
        const database = new DatabaseSync(copy);
        try {
          deleteBackground(database);
          const tables = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").all();
          return tables.map(({ name }) => [name, database.prepare(`SELECT * FROM "${name}"`).all()]);
        } finally {
          database.close();
        }
      },
    };
  },
  redis: async () => {
    const server = await startRedisServer();
    const redis = await connectToRedis(server.url);
    onTestFinished(async () => {
      redis.disconnect();
      await server.stop();
    });
    return {
      environment: { REDIS_URL: server.url },
      outlivesService: true,
      look: async () => {
        // The worker of the queue writes when it last looked for stalled jobs.
        const keys = (await redis.keys('*'))
          .filter((key) => !key.endsWith(':stalled-check') && !IN_BACKGROUND.test(key))
          .toSorted();
        const values = await Promise.all(
          keys.map(async (key) => [
            key,
            await redis.call('PEXPIRETIME', key),
            (await redis.dumpBuffer(key)).toString('hex'),
          ]),
        );
        return values;
      },
    };
  },
};

const Approvals = z.object({ approvals: z.array(z.looseObject({ tool: z.string(), digest: z.string() })) });

const startWatched = async (store: Store) => {
  const processes = watchHostProcesses();
  const { root: desk } = makeDirectory();
  const { root: tools } = makeDirectory({ 'tools.ts': HOSTED(desk) });
  const { root: workspace } = makeDirectory({ 'notes-1.md': '# one', 'notes-2.md': 'two' });
  const { root: notes } = makeDirectory({ 'notes-1.md': '# one' });
  const upstream = await startHttpTarget(answering(200, { 'content-type': 'application/json' }, '{}'));
  const folder = await createFolder();
  const ledger = join(folder, 'ledger');
  const document = join(folder, 'shop.json');
  await mkdir(join(workspace, 'folder'));
  await writeFile(ledger, '');
  await writeFile(document, JSON.stringify(BANK));
  const failing = createActor('failing', { retries: 1 }, fail);
  const slow = createActor('slow', { effects: 'write', background: 'optional' });
  const limited = createActor('limited', { maxCallsPerSession: 1 });
  const actors = [failing, slow, limited];
  const start = async () => {
    const lab = await startConfigLab(
      {
        mcpServers: { bank: servers.bank(ledger) },
        openapi: { shop: { document, baseUrl: upstream.origin, privateAddresses: 'allow' } },
        ...POLICIES,
      },
      {
        TOOLS_DIR: tools,
        WORKSPACE_DIR: workspace,
        NOTES_DIR: notes,
        TOOL_GROUPS: 'notes,shell',
        CIRCUIT_FAILURES: '2',
        CIRCUIT_OPEN_MS: '3600000',
        ...processes.environment,
        ...store.environment,
      },
      actors.map(({ tool }) => tool),
    );
    const client = createKeyedClient(lab.service.url);
    if (store.environment['REDIS_URL'] !== undefined) await whenConnected(client);
    return { ...lab, ...client };
  };
  const key = freshName();
  const session = freshName();
  const kept = { session_id: session, calls: [{ id: 'kept', name: 'slow', arguments: { amount: 1 } }] };
  // A kept result, and a key of a call.
  const keep = async ({ post }: Pick<KeyedClient, 'post'>): Promise<void> => {
    await post(kept, { key });
    await post({ ...kept, idempotency: 'call_id', calls: [{ id: 'call_1', name: 'slow', arguments: {} }] });
  };
  // How many bytes results take in a store is written every few seconds, and when a service stops: an earlier one keeps them.
  if (store.outlivesService) {
    const earlier = await start();
    await keep(earlier);
    await earlier.service.stop();
  }
  const lab = await start();
  if (!store.outlivesService) await keep(lab);
  const readApprovals = async () =>
    Approvals.parse(await (await fetch(`${lab.service.url}/approvals`)).json()).approvals;
  const look = async () => ({
    files: [desk, tools, workspace, notes, folder].map(lookAtFiles),
    handlers: actors.map(({ asked }) => asked.length),
    sockets: [upstream.connections(), upstream.requests.length],
    processes: lookAtProcesses(processes.hosts()),
    session: await lab.session(session),
    approvals: await readApprovals(),
    store: await store.look(),
    failures: lab.service.logLines().filter(({ msg }) => String(msg).includes('call failed')).length,
    metrics: await lookAtMetrics(lab.service.url),
  });
  return { ...lab, session, key, kept, look, readApprovals, upstream };
};

const toCalls = (tools: readonly ToolDescription[], origin: string): readonly unknown[] =>
  Array.from({ length: RUNS }, (_, at) => {
    const tool = tools[at % tools.length];
    const args = guess(tool?.input_schema, Math.floor(at / tools.length), origin);
    return { id: `call_${at % 40}`, name: at % 31 === 0 ? 'no_such_tool' : tool?.name, arguments: args };
  });

test.each(Object.keys(STORES))(
  'a thousand dry runs over all tools have no effect: %s',
  { timeout: timeLimit(120_000) },
  async (name) => {
    const store = await STORES[name]?.();
    if (store === undefined) throw new Error('No such store.');
    const { service, post, session, key, kept, tools, look, readApprovals, upstream } = await startWatched(store);
    const catalogue = [...(await tools()).values()].filter(({ available }) => available);
    expect(catalogue.map((tool) => tool.name)).toEqual(
      expect.arrayContaining(['echo', 'read_file', 'send', 'tidy', 'bank_pay', 'shop_order', 'slow']),
    );
    // What there is to look at beside what is kept: a failing tool, a used limit, an open circuit, calls that wait for a person.
    await post({ session_id: session, calls: [{ name: 'failing' }, { name: 'limited' }] });
    await post([{ name: 'failing' }]);
    const asked = (await post({ session_id: session, calls: ASKING })).results.map(({ error }) => error?.approval);
    expect(asked.map((approval) => approval?.digest)).toEqual(ASKING.map(() => expect.any(String)));
    // Read by the clock.
    const waiting = () => service.metric('recourse_approvals_waiting');
    await expect.poll(waiting, { timeout: timeLimit(20_000) }).toBe(ASKING.length);
    // Once: the processes that check arguments are started for it.
    const calls = toCalls(catalogue, upstream.origin);
    const batches = Array.from({ length: RUNS / CALLS_OF_A_BATCH }, (_, at) =>
      calls.slice(at * CALLS_OF_A_BATCH, (at + 1) * CALLS_OF_A_BATCH),
    );
    const first = catalogue.map((tool) => ({
      name: tool.name,
      arguments: guess(tool.input_schema, 3, upstream.origin),
    }));
    await post({ calls: [{ name: 'send', arguments: { to: 'a' } }, ...first], dry_run: true });
    const before = await look();
    const said = new Map<string, number>();
    const count = (results: Awaited<ReturnType<typeof post>>['results']): void => {
      for (const result of results) {
        if (result.outcome !== 'checked') throw new Error(`Not checked: ${JSON.stringify(result)}`);
        const { would, depth } = result.dry_run;
        for (const word of [would, depth]) said.set(word, (said.get(word) ?? 0) + 1);
      }
    };
    for (const [at, some] of batches.entries()) {
      const envelope = [
        { session_id: session },
        { session_id: session, idempotency: 'call_id' },
        { session_id: freshName(), order: 'sequential', on_error: 'stop' },
        { session_id: session, round_id: `round-${at}` },
        {},
      ][at % 5];
      const sent = at % 5 === 1 ? {} : { key: freshName() };
      const answer = await post({ ...envelope, calls: some, dry_run: true }, sent);
      expect(answer.status).toBe(200);
      count(answer.results);
      count((await post({ ...kept, dry_run: true }, { key })).results);
    }
    const after = await look();
    expect([...said.keys()].toSorted()).toEqual(['ask', 'checked', 'previewed', 'refuse', 'replay', 'retry', 'run']);
    expect(after).toEqual(before);
    // A person has read of them what a dry run tells.
    const { results } = await post({ session_id: session, calls: ASKING, dry_run: true });
    const told = results.map((result) => (result.outcome === 'checked' ? result.dry_run : null));
    expect(told.map((one) => one?.would)).toEqual(ASKING.map(() => 'ask'));
    expect(told.map((one) => one?.digest)).toEqual(asked.map((approval) => approval?.digest));
    const listed = new Map((await readApprovals()).map(({ tool, digest }) => [tool, digest]));
    expect(told.map((one) => one?.digest)).toEqual(ASKING.map((call) => listed.get(call.name)));
  },
);
