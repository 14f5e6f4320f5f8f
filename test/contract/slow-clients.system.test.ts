import { setTimeout as pause } from 'node:timers/promises';
import { startSlowClients } from '@recourse/test-support/slowhttptest.ts';
import { type RunningProcess, startProcess } from '@recourse/test-support/start-process.ts';
import { callService } from '@recourse/test-support/start-service.ts';
import { FORMATS, foldEvents, readEvents, sendFor } from '@recourse/test-support/stream-lab.ts';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';

const CONNECTIONS = 400;
// No test waits for it: until then the service must have closed what is slow, many times as fast.
const ATTACK_SECONDS = 60;
const TEST_MS = timeLimit(120_000);
const UNTIL = { timeout: timeLimit(50_000), interval: 100 };
const STREAMS = [...FORMATS, ...FORMATS];

// A catalogue of 700 kB: slow readers ask for it five times, which is more than the system buffers. And a call that ends
// when the file `go` is there.
const TOOLS = `
  import { existsSync } from 'node:fs';
  import { setTimeout as pause } from 'node:timers/promises';
  import { defineTool } from 'recourse-server';
  const input = { type: 'object', additionalProperties: true };
  const toLarge = (_, at) =>
    defineTool({ name: 'large_' + at, description: 'x'.repeat(12_000), effects: 'read', input, run: () => at });
  const held = defineTool({
    name: 'held',
    description: 'Waits until it is let go.',
    effects: 'read',
    background: 'always',
    timeoutMs: 100_000,
    input,
    run: async ({ go, stream }) => {
      while (!existsSync(go)) await pause(50);
      return { stream };
    },
  });
  export default [held, ...Array.from({ length: 60 }, toLarge)];
`;

const metricOf = async ({ url }: RunningProcess, name: string): Promise<number | undefined> => {
  const answer = await fetch(`${url}/metrics`);
  expect(answer.status).toBe(200);
  const line = (await answer.text()).split('\n').find((text) => text.startsWith(`${name} `));
  return line === undefined ? undefined : Number(line.slice(name.length + 1));
};

/** A service, and streams that follow calls which are pending until `release`; that gives what the streams came to. */
const startHolding = async (environment: Readonly<Record<string, string>>) => {
  const directory = makeDirectory({ 'tools.ts': TOOLS });
  const place = makeDirectory();
  const service = await startProcess({ by: 'node', environment: { TOOLS_DIR: directory.root, ...environment } });
  const leaving = new AbortController();
  onTestFinished(() => leaving.abort());
  const streams = STREAMS.map(async (format, stream) => {
    const calls = [{ id: 'h', name: 'held', arguments: { go: `${place.root}/go`, stream } }];
    const sent = { format, headers: { prefer: 'respond-async' } };
    const response = await sendFor(service.url, { calls }, sent, leaving.signal);
    // What breaks off is an empty text, which folds to nothing: a rejection that nobody awaits yet would end the run.
    const text = response.text().catch(() => '');
    return { format, text };
  });
  const open = await Promise.all(streams);
  const release = (): Promise<unknown[]> => {
    place.write('go', '');
    return Promise.all(open.map(async ({ format, text }) => foldEvents(readEvents(await text, format))));
  };
  return { service, release };
};

/** Posts a batch every 20 ms, whether the one before is answered or not, until `stop`; that gives what all came to. */
const keepCalling = ({ url }: RunningProcess) => {
  const over = new AbortController();
  const sent: Promise<unknown>[] = [];
  // What is refused is compared, too: a rejection that nobody awaits yet would end the run.
  const callOnce = async (text: string): Promise<unknown> => {
    const answer = callService(url, [{ name: 'echo', arguments: { text } }]);
    return answer.then(([result]) => result?.value, String);
  };
  const call = async (): Promise<void> => {
    while (!over.signal.aborted) {
      sent.push(callOnce(`batch ${sent.length}`));
      await pause(20);
    }
  };
  const calling = call();
  onTestFinished(() => over.abort());
  return async (): Promise<readonly unknown[]> => {
    over.abort();
    await calling;
    return Promise.all(sent);
  };
};

/** Lets slow clients come, until `isOver` or until they have no connection left. All others must be served meanwhile. */
const attack = async (
  environment: Readonly<Record<string, string>>,
  toWords: (url: string) => readonly string[],
  isOver: (service: RunningProcess) => Promise<unknown> | null = () => null,
) => {
  const { service, release } = await startHolding(environment);
  await expect.poll(() => metricOf(service, 'recourse_streams_open'), UNTIL).toBe(STREAMS.length);
  const stopCalling = keepCalling(service);
  const common = ['-c', `${CONNECTIONS}`, '-r', '200', '-l', `${ATTACK_SECONDS}`];
  const clients = startSlowClients([...common, ...toWords(service.url)]);
  const over = isOver(service);
  if (over !== null) {
    await over;
    clients.stop();
  }
  const { exitStatus, seconds } = await clients.report();
  const values = await stopCalling();
  expect(values).toEqual(values.map((_, at) => ({ text: `batch ${at}` })));
  // None was ended with the slow ones.
  expect(await metricOf(service, 'recourse_streams_open')).toBe(STREAMS.length);
  const ended = STREAMS.map((_, stream) => ({ status: 'done', results: [{ success: true, value: { stream } }] }));
  expect(await release()).toMatchObject(ended);
  expect((await fetch(`${service.url}/ready`)).status).toBe(200);
  expect(await metricOf(service, 'recourse_contract_violations_total')).toBe(0);
  return { exitStatus, met: Math.max(...seconds.map(({ closed, connected }) => closed + connected)) };
};

// It ends by itself when the service has closed the last connection; else it says that its time was over.
const ALL_CLOSED = { exitStatus: 'No open connections left', met: CONNECTIONS };

test(
  'clients that never end their headers are closed after the time for headers, and nobody else is',
  async () => {
    // The time for whole requests must not be what closes them.
    const environment = { REQUEST_TIMEOUT_MS: '600000' };
    expect(await attack(environment, (url) => ['-H', '-i', '1', '-u', `${url}/tools`])).toEqual(ALL_CLOSED);
  },
  TEST_MS,
);

test(
  'clients that never end their bodies are closed after REQUEST_TIMEOUT_MS, and nobody else is',
  async () => {
    const toWords = (url: string) => ['-B', '-i', '1', '-f', 'application/json', '-u', `${url}/tool-calls`];
    expect(await attack({ REQUEST_TIMEOUT_MS: '5000' }, toWords)).toEqual(ALL_CLOSED);
  },
  TEST_MS,
);

test(
  'clients that do not read what they asked for are closed after ANSWER_STALL_MS, and nobody else is',
  async () => {
    // What all answers take together is a part of the heap: test/contract/answer-memory.test.ts. Here nobody is refused for it.
    const environment = { ANSWER_STALL_MS: '3000', NODE_OPTIONS: '--max-old-space-size=12288' };
    const toWords = (url: string) => ['-X', '-k', '5', '-u', `${url}/tools`];
    // The clients do not see it: the end of a connection comes to them behind all that they have not read.
    const areClosed = async (service: RunningProcess): Promise<void> => {
      await expect.poll(() => metricOf(service, 'recourse_connections_stalled_total'), UNTIL).toBe(CONNECTIONS);
      await expect.poll(() => metricOf(service, 'process_open_fds'), UNTIL).toBeLessThan(CONNECTIONS);
    };
    const report = await attack(environment, toWords, areClosed);
    expect(report).toEqual({ exitStatus: 'Cancelled by user', met: CONNECTIONS });
  },
  TEST_MS,
);
