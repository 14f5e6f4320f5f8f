import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { ALL_CALLS } from '@recourse/test-support/call-records-under-test.ts';
import { createPendingClient, type PendingAnswer } from '@recourse/test-support/pending-client.ts';
import { startRedisServer } from '@recourse/test-support/redis-server.ts';
import { connectToRedis } from '@recourse/test-support/session-stores-under-test.ts';
import { type RunningProcess, startProcess } from '@recourse/test-support/start-process.ts';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { onTestFinished } from 'vitest';

// Each handler writes a line when it begins and one when it ends. The first that is asked to wait does so for a file.
export const TOOLS = `
  import { appendFileSync, existsSync, readFileSync } from 'node:fs';
  import { setTimeout as pause } from 'node:timers/promises';
  import { defineTool, z } from 'recourse-server';
  const make = (name, effects, background = 'optional') =>
    defineTool({
      name,
      description: 'Writes into a ledger.',
      effects,
      background,
      input: z.object({ id: z.string(), ledger: z.string(), waitsFor: z.string() }),
      run: async ({ id, ledger, waitsFor }) => {
        const earlier = readFileSync(ledger, 'utf8').split('\\n').filter((line) => line === 'begin ' + id).length;
        appendFileSync(ledger, 'begin ' + id + '\\n');
        while (waitsFor !== '' && earlier === 0 && !existsSync(waitsFor)) await pause(20);
        appendFileSync(ledger, 'end ' + id + '\\n');
        return ['first', 'second', 'third', 'fourth'][earlier] + ' run';
      },
    });
  export const killedWrite = make('killed_write', 'write');
  export const killedRead = make('killed_read', 'read');
  export const frozenWrite = make('frozen_write', 'write');
  export const frozenRead = make('frozen_read', 'read');
  export const otherWrite = make('other_write', 'write');
  export const otherRead = make('other_read', 'read');
  export const neverWrite = make('never_write', 'write', 'never');
  export const alwaysWrite = make('always_write', 'write', 'always');
`;

const LANES = `
lanes:
  killed: { tools: ['killed_*'] }
  frozen: { tools: ['frozen_*'] }
`;

const WAIT_MS = timeLimit(40_000);

/** Holds calls at the points that their file names; see there. */
export const HOLDING = 'test/support/holding-process.ts';

export type Effects = 'write' | 'read';
export const EFFECTS = ['write', 'read'] as const;

/** A call of a test. Its name is the id that its handler writes into the ledger. */
export type Cell = {
  readonly name: string;
  readonly requestId: string;
  readonly handle: string;
};

export const untilTrue = async (
  isTrue: () => boolean | Promise<boolean>,
  what: string,
  toDetails = (): string => '',
): Promise<void> => {
  const deadline = performance.now() + WAIT_MS;
  while (!(await isTrue())) {
    if (performance.now() > deadline) throw new Error(`It never came to this: ${what}. ${toDetails()}`.trimEnd());
    await pause(50);
  }
};

/** A Redis, and a directory with the ledger and tools of all processes. */
export const startLab = async () => {
  const redis = await startRedisServer();
  onTestFinished(redis.stop);
  const client = await connectToRedis(redis.url);
  client.on('error', () => undefined);
  onTestFinished(() => client.disconnect());
  const tools = makeDirectory({ 'tools.ts': TOOLS });
  const files = makeDirectory({ ledger: '', 'recourse.yaml': LANES });
  const ledger = join(files.root, 'ledger');
  const environment = {
    REDIS_URL: redis.url,
    TOOLS_DIR: tools.root,
    CONFIG_FILE: join(files.root, 'recourse.yaml'),
  };
  const linesOf = (word: 'begin' | 'end', id: string): number =>
    readFileSync(ledger, 'utf8')
      .split('\n')
      .filter((line) => line === `${word} ${id}`).length;
  return {
    redis,
    client,
    files,
    environment,
    ledger,
    linesOf,
    /** A service that runs no calls. */
    startApi: (by: 'node' | typeof HOLDING = 'node', more: Readonly<Record<string, string>> = {}) =>
      startProcess({ by, environment: { ...environment, ...more, ROLE: 'api' } }),
    recordKeysOf: (handle: string) => client.keys(`recourse2:{*:${handle}}:call`),
    hasJob: async (handle: string) => (await client.keys(`recourse2:{jobs:*}:jobs:${handle}`)).length > 0,
    /** The next sweep of any process looks at all calls; by itself a call that waits is looked at each 15 s. */
    passLook: async () => {
      for (const entry of await client.zrange(ALL_CALLS, '0', '-1')) await client.call('ZADD', ALL_CALLS, '1', entry);
    },
    /** The lease of a dead worker is over; by itself 5 s after its last renewal. */
    passLease: async (handle: string) => {
      for (const key of await client.keys(`recourse2:{*:${handle}}:call`)) {
        const head: object = JSON.parse((await client.hget(key, 'h')) ?? '{}');
        // Another version: what a process knows of the record is not true any more.
        await client.hset(key, 'h', JSON.stringify({ ...head, leaseEndsAt: 1 }), 'v', `lapsed-${performance.now()}`);
      }
    },
  };
};

export type Lab = Awaited<ReturnType<typeof startLab>>;

/** Points at which the calls of a process stop; `go` lets them go on. */
export const makeHolds = () => {
  const holds = makeDirectory();
  const fileOf = (handle: string): string => join(holds.root, `held-${handle}`);
  const held = (): readonly string[] =>
    readdirSync(holds.root).flatMap((name) => (name.startsWith('held-') ? [name.slice('held-'.length)] : []));
  const describeHeld = (): string =>
    held()
      .map((handle) => `${handle} at ${readFileSync(fileOf(handle), 'utf8')}`)
      .join(', ');
  return {
    /** The handles of the calls that are held. */
    held,
    environment: { DEATHS_HOLDS: holds.root },
    go: join(holds.root, 'go'),
    hold: (handle: string, point: string) => holds.write(`hold-${handle}`, point),
    whenHeld: (handle: string) => untilTrue(() => existsSync(fileOf(handle)), `${handle} is held`),
    whenSoManyHeld: (count: number) =>
      untilTrue(
        () => held().length === count,
        `${count} calls are held`,
        () => `Held are: ${describeHeld()}.`,
      ),
    /** Before another process may be held at the same call. */
    forgetHeld: (handle: string) => rmSync(fileOf(handle)),
  };
};

export type Holds = ReturnType<typeof makeHolds>;

export const toBody = (lab: Lab, tool: string, id: string, waitsFor = '') => ({
  calls: [{ id, name: tool, arguments: { id, ledger: lab.ledger, waitsFor } }],
});

export const handleOf = ({ results }: PendingAnswer): string => {
  const [result] = results;
  if (result?.outcome !== 'pending') throw new Error(`The call is not pending: ${JSON.stringify(result)}`);
  return result.pending.call;
};

/** Has a service accept a call; again under the same key, which accepts no second call, where that was not taken. */
export const beginKept = async (service: RunningProcess, name: string, body: object): Promise<PendingAnswer> => {
  const headers = { 'idempotency-key': name };
  for (const deadline = performance.now() + WAIT_MS; performance.now() < deadline; await pause(50)) {
    const answer = await createPendingClient(service.url).begin(body, { headers });
    if (answer.problem === null) return answer;
  }
  throw new Error(`${name} was never taken.`);
};

/** Has a service accept a call of the tool, which does not end before its request is answered. */
export const beginCell = async (
  service: RunningProcess,
  lab: Lab,
  { tool, name, waitsFor = '' }: { readonly tool: string; readonly name: string; readonly waitsFor?: string },
): Promise<Cell> => {
  const answer = await beginKept(service, name, toBody(lab, tool, name, waitsFor));
  return { name, requestId: answer.requestId, handle: handleOf(answer) };
};

const toWords = ({ problem, results: [result] }: PendingAnswer): string =>
  result?.outcome === 'success'
    ? String(result.value)
    : `${problem ?? result?.error?.code} ${result?.outcome} ${result?.executed}`;

/** How each call ended, once it has, and how often its handler has begun. */
export const describeAll = async (service: RunningProcess, lab: Lab, cells: readonly Cell[]) => {
  const describeEnd = async ({ name, requestId }: Cell): Promise<string> => {
    const words = toWords(await createPendingClient(service.url).finish(requestId));
    return `${words}, begun ${lab.linesOf('begin', name)} times`;
  };
  return Object.fromEntries(
    await Promise.all(cells.map(async (cell) => [cell.name, await describeEnd(cell)] as const)),
  );
};
