import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startRedisServer } from '@recourse/test-support/redis-server.ts';
import { type RunningProcess, startProcess } from '@recourse/test-support/start-process.ts';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { ToolCallsResponse, ToolResult } from 'recourse-server/internal/contract/tool-result.ts';
import { describe, expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import { HOLDING, makeHolds, TOOLS, untilTrue } from './deaths-lab.ts';

// Batches with an Idempotency-Key whose first try preferred an asynchronous answer and never gave one, and that are sent
// again without that preference.

// What was accepted in a session counts no second time, and is refused by no limit.
const LIMITS = { SESSION_MAX_ROUNDS: '1' };
const PROMISED = { prefer: 'respond-async, wait=100' };

/** A keyed batch of one call for each tool. */
type Batch = {
  readonly name: string;
  readonly tools: readonly string[];
  readonly order?: 'parallel' | 'sequential';
  readonly sessionId?: string;
  /** For what file its first call waits. */
  readonly waitsFor?: string;
};

const startLab = async (store: Readonly<Record<string, string>>) => {
  const tools = makeDirectory({ 'tools.ts': TOOLS });
  const ledger = join(makeDirectory({ ledger: '' }).root, 'ledger');
  const holds = makeHolds();
  const toBody = ({ name, tools: called, order = 'parallel', sessionId, waitsFor = '' }: Batch) => ({
    order,
    ...(sessionId === undefined ? {} : { session_id: sessionId }),
    calls: called.map((tool, index) => {
      const id = `${name} ${index}`;
      return { id, name: tool, arguments: { id, ledger, waitsFor: index === 0 ? waitsFor : '' } };
    }),
  });
  const post = (to: RunningProcess, batch: Batch, headers: Readonly<Record<string, string>>) =>
    fetch(`${to.url}/tool-calls`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': batch.name, ...headers },
      body: JSON.stringify(toBody(batch)),
    });
  const linesOf = (word: 'begin' | 'end', { name, tools: called }: Batch): readonly number[] => {
    const lines = readFileSync(ledger, 'utf8').split('\n');
    return called.map((_tool, index) => lines.filter((line) => line === `${word} ${name} ${index}`).length);
  };
  return {
    holds,
    gate: join(makeDirectory().root, 'gate'),
    post,
    linesOf,
    start: (by: 'node' | typeof HOLDING) =>
      startProcess({ by, environment: { TOOLS_DIR: tools.root, ...LIMITS, ...store, ...holds.environment } }),
    /** Sent again until the record of the batch is not that of the service that died any more. */
    repeat: async (to: RunningProcess, batch: Batch, headers: Readonly<Record<string, string>> = {}) => {
      const { promise, resolve } = Promise.withResolvers<Response>();
      await untilTrue(async () => {
        const answer = await post(to, batch, headers);
        if (answer.status === 409 || answer.status === 503) return false;
        resolve(answer);
        return true;
      }, `${batch.name} is answered`);
      return promise;
    },
  };
};

type Lab = Awaited<ReturnType<typeof startLab>>;

const toWords = ({ results }: Pick<ToolCallsResponse, 'results'>): readonly unknown[] =>
  results.map(({ outcome, value, error }) => (outcome === 'success' ? value : (error?.code ?? outcome)));

const readWords = async (answer: Response): Promise<readonly unknown[]> =>
  toWords(ToolCallsResponse.parse(await answer.json()));

const Event = z.object({ event: z.string(), data: z.unknown() });

/** The results of a stream of lines, in the order in which they came. */
const readStream = async (answer: Response): Promise<readonly unknown[]> => {
  const lines = (await answer.text()).split('\n').filter((line) => line !== '');
  const events = lines.map((line) => Event.parse(JSON.parse(line)));
  const results = events.flatMap(({ event, data }) => (event === 'result' ? [ToolResult.parse(data)] : []));
  return toWords({ results });
};

const Pending = z.object({ items: z.array(z.unknown()) });

const hasPending = async ({ url }: RunningProcess, tool: string): Promise<boolean> =>
  Pending.parse(await (await fetch(`${url}/calls/pending?tool=${tool}`)).json()).items.length > 0;

// Where the first try of each is when its service dies. `ended`: the calls have run. `confirmed`: no worker knows of them.
// `created`: there is a record that nobody has confirmed.
const ENDED = [
  { name: 'ended', tools: ['other_write', 'other_write'] },
  { name: 'ended in a session', tools: ['other_write'], sessionId: 's' },
  { name: 'ended in its request', tools: ['never_write'] },
  { name: 'ended always', tools: ['always_write'] },
  { name: 'ended, then streamed', tools: ['other_write', 'other_write'] },
] as const;
const CONFIRMED = [
  { name: 'confirmed', tools: ['killed_write'] },
  { name: 'confirmed always', tools: ['always_write'] },
] as const;
const CREATED = [{ name: 'created', tools: ['killed_write', 'never_write'] }] as const;

/** Has a service come to these moments, each call of a batch at its own, and waits until they are there. */
const holdAll = async (service: RunningProcess, { holds, gate, post, linesOf }: Lab, half: Batch, direct: Batch) => {
  const lost: Promise<unknown>[] = [];
  const send = (batch: Batch, headers = {}): void => {
    lost.push(
      post(service, batch, headers).then(
        () => 'answered',
        () => 'cut off',
      ),
    );
  };
  const count = (batches: readonly Batch[]): number => batches.flatMap(({ tools }) => tools).length;
  holds.hold('any', 'queued');
  for (const batch of ENDED) send(batch, PROMISED);
  await holds.whenSoManyHeld(count(ENDED));
  for (const tool of ['other_write', 'never_write', 'always_write'])
    await untilTrue(async () => !(await hasPending(service, tool)), `the calls of ${tool} have ended`);
  holds.hold('any', 'confirmed');
  for (const batch of CONFIRMED) send(batch, PROMISED);
  await holds.whenSoManyHeld(count([...ENDED, ...CONFIRMED]));
  holds.hold('any', 'nowhere');
  send(half, PROMISED);
  send(direct);
  await untilTrue(() => linesOf('begin', half)[0] === 1 && linesOf('begin', direct)[0] === 1, 'both have begun');
  holds.hold('any', 'created');
  for (const batch of CREATED) send(batch, PROMISED);
  writeFileSync(gate, '');
  await holds.whenSoManyHeld(count([...ENDED, ...CONFIRMED, ...CREATED]) + 1);
  return lost;
};

type Store = 'SQLite' | 'Redis';

const startStore = async (store: Store): Promise<Readonly<Record<string, string>>> => {
  if (store === 'SQLite') return { STORE: `sqlite:${join(makeDirectory().root, 'store.db')}` };
  const redis = await startRedisServer();
  onTestFinished(redis.stop);
  return { REDIS_URL: redis.url };
};

const PATIENCE = { timeout: timeLimit(90_000) };

describe.each<Store>(['SQLite', 'Redis'])('on %s', (store) => {
  test(
    'a batch whose service died after it had accepted its calls runs none twice when it is sent again without the preference',
    PATIENCE,
    async () => {
      const lab = await startLab(await startStore(store));
      const { gate, linesOf, repeat } = lab;
      const half: Batch = { name: 'half', tools: ['other_write', 'other_write'], order: 'sequential', waitsFor: gate };
      const direct: Batch = { name: 'direct', tools: ['other_write'], waitsFor: `${gate} that never opens` };
      const victim = await lab.start(HOLDING);
      const lost = await holdAll(victim, lab, half, direct);
      victim.send('SIGKILL', 'service');
      await victim.exited;
      expect(new Set(await Promise.all(lost))).toEqual(new Set(['cut off']));

      const service = await lab.start('node');
      const endOf = async (batch: Batch): Promise<readonly unknown[]> => {
        if (batch.name.includes('streamed'))
          return readStream(await repeat(service, batch, { accept: 'application/x-ndjson' }));
        return readWords(await repeat(service, batch));
      };
      const batches: readonly Batch[] = [...ENDED, ...CONFIRMED, ...CREATED, half];
      const first = batches.map(({ name, tools }) => [name, tools.map(() => 'first run'), tools.map(() => 1)]);
      const describeAll = () =>
        Promise.all(batches.map(async (batch) => [batch.name, await endOf(batch), linesOf('begin', batch)]));
      expect(await describeAll()).toEqual(first);
      expect(await describeAll()).toEqual(first);
      // The other way round: what began without the preference is known by its mark.
      expect([await readWords(await repeat(service, direct, PROMISED)), linesOf('begin', direct)]).toEqual([
        ['outcome_unknown'],
        [1],
      ]);
    },
  );
});

test(
  'a replica that was frozen before it accepted a call runs it no second time after another one took its batch over',
  PATIENCE,
  async () => {
    const lab = await startLab(await startStore('Redis'));
    const batch: Batch = { name: 'frozen', tools: ['other_write', 'never_write'] };
    const [frozen, service] = await Promise.all([lab.start(HOLDING), lab.start('node')]);
    lab.holds.hold('any', 'asked');
    const late = lab.post(frozen, batch, PROMISED);
    await lab.holds.whenSoManyHeld(2);
    frozen.send('SIGSTOP', 'service');
    expect(await readWords(await lab.repeat(service, batch))).toEqual(['first run', 'first run']);
    writeFileSync(lab.holds.go, '');
    frozen.send('SIGCONT', 'service');
    expect(await readWords(await late)).toEqual(['first run', 'first run']);
    expect(lab.linesOf('begin', batch)).toEqual([1, 1]);
  },
);
