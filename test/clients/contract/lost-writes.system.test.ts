import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { startProcess } from '@recourse/test-support/start-process.ts';
import { startTcpProxy } from '@recourse/test-support/tcp-proxy.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createNoteTool } from '../typescript/lossy-lab.ts';
import type { CaseToRun, ClientUnderTest, Outcome } from './contract-case.ts';
import { startPythonClient } from './python-client.ts';
import { startTypescriptClient } from './typescript-client.ts';

const PATIENCE = { timeout: timeLimit(90_000) };
const POLL = { timeout: timeLimit(20_000), interval: 10 };
const NAMES = ['typescript', 'python'] as const;

const clients = new Map<string, ClientUnderTest>();
beforeAll(() => {
  clients.set('typescript', startTypescriptClient()).set('python', startPythonClient());
});
afterAll(async () => {
  for (const client of clients.values()) await client.stop();
});

const runOne = async (name: string, what: CaseToRun): Promise<Outcome> => {
  const [outcome] = (await clients.get(name)?.run(what)) ?? [];
  if (outcome === undefined) throw new Error(`${name} said nothing.`);
  return outcome;
};

const writing = (note: string, options = {}): CaseToRun['operations'] => [
  { do: 'execute', session: note, calls: [{ id: 'a', name: 'write_note', arguments: { note } }], options },
];

/** Passes requests on; of the service's answers `toClient` makes what it likes. */
const startProxy = async (to: number, toClient: (client: Socket, bytes: Buffer) => void): Promise<string> => {
  const server = createServer((client) => {
    const service = connect({ port: to, host: '127.0.0.1' });
    client.on('error', () => service.destroy()).on('close', () => service.destroy());
    service.on('error', () => client.destroy()).on('data', (bytes: Buffer) => toClient(client, bytes));
    client.pipe(service);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The proxy has no port.');
  return `http://127.0.0.1:${address.port}`;
};

/** Resets the first connection in the middle of the answer, when its headers and most of its body have come. */
const startTearingProxy = (to: number): Promise<string> => {
  let torn = false;
  return startProxy(to, (client, bytes) => {
    if (torn) return void client.write(bytes);
    torn = true;
    client.write(bytes.subarray(0, bytes.length - 20), () => setTimeout(() => client.resetAndDestroy(), 50));
  });
};

const startSwallowingProxy = (to: number): Promise<string> => startProxy(to, () => undefined);

test(
  'with each client a write whose connection is cut runs once, and so does one whose answer is torn',
  PATIENCE,
  async () => {
    const notes = createNoteTool();
    const service = await startProcess({ by: 'node', environment: notes.environment });
    const proxy = await startTcpProxy({ to: service.port });
    onTestFinished(proxy.close);

    // Cut while the tool runs: the key is taken until it is let go, and the kept result comes then.
    const cut = NAMES.map((name) =>
      runOne(name, { url: `http://127.0.0.1:${proxy.port}`, operations: writing(`cut ${name}`) }),
    );
    await expect.poll(() => NAMES.map((name) => notes.runs(`cut ${name}`)), POLL).toEqual([1, 1]);
    proxy.cut();
    notes.letGo();
    for (const [place, name] of NAMES.entries())
      expect((await cut[place])?.returns).toMatchObject({
        replayed: true,
        results: [{ success: true, value: `cut ${name}`, replayed: true }],
      });

    // Torn in the middle of the answer: headers and most of the body have come.
    const torn = NAMES.map(async (name) => {
      const url = await startTearingProxy(service.port);
      const { returns } = await runOne(name, { url, operations: writing(`torn ${name}`) });
      expect(returns).toMatchObject({
        replayed: true,
        attempts: 2,
        results: [{ success: true, value: `torn ${name}` }],
      });
    });

    // Gone for good: the error says that it may have run, and its key gives the result later.
    const gone = NAMES.map(async (name) => {
      const operations = writing(`gone ${name}`, { timeout_ms: 2_500, idempotency_key: `gone-${name}` });
      const { raises } = await runOne(name, { url: await startSwallowingProxy(service.port), operations });
      const said = { code: 'no_answer', status: null, may_have_run: true, idempotency_key: `gone-${name}` };
      expect(raises).toMatchObject(said);
      const { returns } = await runOne(name, { url: service.url, operations });
      expect(returns).toMatchObject({ replayed: true, results: [{ success: true }] });
    });
    await Promise.all([...torn, ...gone]);

    const all = NAMES.flatMap((name) => [`cut ${name}`, `torn ${name}`, `gone ${name}`]);
    expect(all.map((note) => [note, notes.runs(note)])).toEqual(all.map((note) => [note, 1]));
  },
);
