import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { createPendingClient, type PendingAnswer } from '#test/support/pending-client.ts';
import { startRedisServer } from '#test/support/redis-server.ts';
import { type RunningProcess, startProcess, startWorkerProcess } from '#test/support/start-process.ts';
import { makeDirectory } from '#test/tools/directory/temporary-directory.ts';

// Each handler writes a line when it begins and one when it ends. The first that is asked to wait does so for a file.
const TOOLS = `
  import { appendFileSync, existsSync, readFileSync } from 'node:fs';
  import { setTimeout as pause } from 'node:timers/promises';
  import { defineTool, z } from 'recourse';
  const make = (name, effects) =>
    defineTool({
      name,
      description: 'Writes into a ledger.',
      effects,
      background: 'optional',
      input: z.object({ id: z.string(), ledger: z.string(), waitsFor: z.string() }),
      run: async ({ id, ledger, waitsFor }) => {
        const earlier = readFileSync(ledger, 'utf8').split('\\n').filter((line) => line === 'begin ' + id).length;
        appendFileSync(ledger, 'begin ' + id + '\\n');
        while (waitsFor !== '' && earlier === 0 && !existsSync(waitsFor)) await pause(20);
        appendFileSync(ledger, 'end ' + id + '\\n');
        return earlier === 0 ? 'first run' : 'second run';
      },
    });
  export const killedWrite = make('killed_write', 'write');
  export const killedRead = make('killed_read', 'read');
  export const frozenWrite = make('frozen_write', 'write');
  export const frozenRead = make('frozen_read', 'read');
  export const otherWrite = make('other_write', 'write');
`;

const LANES = `
lanes:
  killed: { tools: ['killed_*'] }
  frozen: { tools: ['frozen_*'] }
`;

const WAIT_MS = 40_000;

/** What the test does to a worker, and the line of tools whose calls that worker has. */
type Death = 'killed' | 'frozen';
type Effects = 'write' | 'read';

// Where a call is when its worker dies. half_way: its handler runs. ended: its handler has ended, its result is not kept.
const POINTS = ['fetched', 'leased', 'half_way', 'ended', 'committed'] as const;

type Cell = {
  readonly name: string;
  readonly requestId: string;
  readonly handle: string;
};

const FIRST = 'first run, begun 1 times';
const AGAIN = 'second run, begun 2 times';
const UNKNOWN = 'outcome_unknown unknown maybe, begun 1 times';

/** A Redis, a service that runs no calls, and a directory with the ledger and tools of all processes. */
const startLab = async () => {
  const redis = await startRedisServer();
  onTestFinished(redis.stop);
  const tools = makeDirectory({ 'tools.ts': TOOLS });
  const files = makeDirectory({ ledger: '', 'recourse.yaml': LANES });
  const ledger = join(files.root, 'ledger');
  const environment = {
    REDIS_URL: redis.url,
    TOOLS_DIR: tools.root,
    CONFIG_FILE: join(files.root, 'recourse.yaml'),
    WORKER_STALL_MS: '1000',
  };
  const linesOf = (word: 'begin' | 'end', id: string): number =>
    readFileSync(ledger, 'utf8')
      .split('\n')
      .filter((line) => line === `${word} ${id}`).length;
  return { environment, ledger, linesOf };
};

type Lab = Awaited<ReturnType<typeof startLab>>;

/** Processes that stop at steps of calls; `go` lets them go on. */
const makeHolds = () => {
  const holds = makeDirectory();
  return {
    environment: { DEATHS_HOLDS: holds.root },
    go: join(holds.root, 'go'),
    hold: (handle: string, point: string) => holds.write(`hold-${handle}`, point),
    whenHeld: (handle: string) => untilTrue(() => existsSync(join(holds.root, `held-${handle}`)), `${handle} is held`),
    root: holds.root,
  };
};

const untilTrue = async (isTrue: () => boolean | Promise<boolean>, what: string): Promise<void> => {
  const deadline = performance.now() + WAIT_MS;
  while (!(await isTrue())) {
    if (performance.now() > deadline) throw new Error(`It never came to this: ${what}.`);
    await pause(50);
  }
};

const isAnyHeld = (directory: string): boolean => readdirSync(directory).some((name) => name.startsWith('held-'));

const handleOf = ({ results }: PendingAnswer): string => {
  const [result] = results;
  if (result?.outcome !== 'pending') throw new Error(`The call is not pending: ${JSON.stringify(result)}`);
  return result.pending.call;
};

const describeEnd = async (service: RunningProcess, lab: Lab, { name, requestId }: Cell): Promise<string> => {
  const { results } = await createPendingClient(service.url).finish(requestId);
  const [result] = results;
  const said =
    result?.outcome === 'success'
      ? String(result.value)
      : `${result?.error?.code} ${result?.outcome} ${result?.executed}`;
  return `${said}, begun ${lab.linesOf('begin', name)} times`;
};

const describeAll = async (service: RunningProcess, lab: Lab, cells: readonly Cell[]) =>
  Object.fromEntries(
    await Promise.all(cells.map(async (cell) => [cell.name, await describeEnd(service, lab, cell)] as const)),
  );

const toBody = (lab: Lab, tool: string, id: string, waitsFor: string) => ({
  calls: [{ id, name: tool, arguments: { id, ledger: lab.ledger, waitsFor } }],
});

/** One call for each point, a write and a read, of the line of tools; queued, for no worker of that lane runs yet. */
const queueCells = (service: RunningProcess, lab: Lab, death: Death, holds: ReturnType<typeof makeHolds>) =>
  Promise.all(
    POINTS.flatMap((point) =>
      (['write', 'read'] as const).map(async (effects: Effects): Promise<Cell> => {
        const name = `${death} ${point} ${effects}`;
        const body = toBody(lab, `${death}_${effects}`, name, point === 'half_way' ? holds.go : '');
        const answer = await createPendingClient(service.url).begin(body);
        const handle = handleOf(answer);
        if (point !== 'half_way') holds.hold(handle, point);
        return { name, requestId: answer.requestId, handle };
      }),
    ),
  );

/** A worker with a call at each point. */
const startVictim = async (
  lab: Lab,
  death: Death,
  holds: ReturnType<typeof makeHolds>,
  cells: readonly Cell[],
): Promise<Awaited<ReturnType<typeof startWorkerProcess>>> => {
  const victim = await startWorkerProcess({
    by: 'test/support/holding-process.ts',
    environment: { ...lab.environment, ...holds.environment, WORKER_LANES: death },
  });
  await Promise.all(
    cells.map(({ name, handle }) =>
      name.includes('half_way')
        ? untilTrue(() => lab.linesOf('begin', name) === 1, `${name} has begun`)
        : holds.whenHeld(handle),
    ),
  );
  return victim;
};

const toExpected = (death: Death, write: string) => {
  const begun = { write, read: AGAIN };
  const whole = { write: FIRST, read: FIRST };
  const ends = { fetched: whole, leased: whole, half_way: begun, ended: begun, committed: whole };
  return Object.fromEntries(
    POINTS.flatMap((point) => [
      [`${death} ${point} write`, ends[point].write],
      [`${death} ${point} read`, ends[point].read],
    ]),
  );
};

test('a worker that dies or freezes at any step doubles no write, and every call of it ends', {
  timeout: 90_000,
}, async () => {
  const lab = await startLab();
  const service = await startProcess({ by: 'node', environment: { ...lab.environment, ROLE: 'api' } });
  const [ofKilled, ofFrozen] = [makeHolds(), makeHolds()];
  const [killed, frozen] = await Promise.all([
    queueCells(service, lab, 'killed', ofKilled),
    queueCells(service, lab, 'frozen', ofFrozen),
  ]);
  const [dying, sleeping] = await Promise.all([
    startVictim(lab, 'killed', ofKilled, killed),
    startVictim(lab, 'frozen', ofFrozen, frozen),
  ]);
  dying.send('SIGKILL', 'service');
  sleeping.send('SIGSTOP', 'service');
  await startWorkerProcess({ by: 'node', environment: lab.environment });
  expect(await describeAll(service, lab, [...killed, ...frozen])).toEqual({
    ...toExpected('killed', UNKNOWN),
    ...toExpected('frozen', UNKNOWN),
  });
  // What the frozen worker says when it wakes up replaces only what nobody knew.
  writeFileSync(ofFrozen.go, '');
  sleeping.send('SIGCONT', 'service');
  const late = frozen.filter(({ name }) => /(half_way|ended) write/.test(name));
  await untilTrue(async () => {
    const ends = await describeAll(service, lab, late);
    return Object.values(ends).every((end) => end === FIRST);
  }, 'late ends replace those that nobody knew');
  // Whatever else it wanted to do is over by now.
  await pause(1500);
  expect(await describeAll(service, lab, [...killed, ...frozen])).toEqual({
    ...toExpected('killed', UNKNOWN),
    ...toExpected('frozen', FIRST),
  });
});

test('a service that dies while it accepts a call, or after it has, doubles and loses nothing', {
  timeout: 90_000,
}, async () => {
  const lab = await startLab();
  const [ofCreated, ofConfirmed] = [makeHolds(), makeHolds()];
  ofCreated.hold('any', 'created');
  ofConfirmed.hold('any', 'confirmed');
  const startApi = (environment: Readonly<Record<string, string>>, by: 'node' | 'test/support/holding-process.ts') =>
    startProcess({ by, environment: { ...lab.environment, ...environment, ROLE: 'api' } });
  const [atCreation, atConfirmation, answering] = await Promise.all([
    startApi(ofCreated.environment, 'test/support/holding-process.ts'),
    startApi(ofConfirmed.environment, 'test/support/holding-process.ts'),
    startApi({}, 'node'),
  ]);
  const toKey = (name: string) => ({ 'idempotency-key': `a batch that is ${name}` });
  const send = (at: RunningProcess, name: string) =>
    createPendingClient(at.url).begin(toBody(lab, 'other_write', name, ''), { headers: toKey(name) });
  const broken = [send(atCreation, 'created'), send(atConfirmation, 'confirmed')];
  const accepted = await send(answering, 'answered');
  expect(accepted.status).toBe(202);
  await Promise.all([ofCreated, ofConfirmed].map((holds) => untilTrue(() => isAnyHeld(holds.root), 'a call is held')));
  for (const service of [atCreation, atConfirmation, answering]) service.send('SIGKILL', 'service');
  expect((await Promise.allSettled(broken)).map(({ status }) => status)).toEqual(['rejected', 'rejected']);

  const [service] = await Promise.all([
    startApi({}, 'node'),
    startWorkerProcess({ by: 'node', environment: lab.environment }),
  ]);
  const waited = await createPendingClient(service.url).finish(accepted.requestId);
  expect(waited.results[0]?.value).toBe('first run');
  // Nobody was told of it, and nobody asks again: a sweep finds it.
  await untilTrue(() => lab.linesOf('end', 'confirmed') === 1, 'the call that has no job has run');
  // Accepted by nobody, it waits for its sender.
  expect(lab.linesOf('begin', 'created')).toBe(0);
  for (const name of ['created', 'confirmed', 'answered']) {
    const again = await send(service, name);
    expect([name, again.status === 202 || again.status === 200]).toEqual([name, true]);
    const { results } = await createPendingClient(service.url).finish(again.requestId);
    expect([name, results[0]?.value, lab.linesOf('begin', name)]).toEqual([name, 'first run', 1]);
  }
});
