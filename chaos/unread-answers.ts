import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import * as z from 'zod';
import { createMemoryCage } from './memory-cage.ts';

// Usage, as root: node chaos/unread-answers.ts [MiB [priority]]. A service in a memory cage gets 200 requests whose answers
// are as large as they can be and are not read, then the same ones read by 16 clients; another tenant calls `echo` all the
// while. On a machine with other work a priority below 0 tells the service's own delays from those of the scheduler.

const CAGE_MIB = Number(process.argv[2] ?? 1024);
const PRIORITY = Number(process.argv[3] ?? 0);
const REQUESTS = 200;
const CALLS = 64;
const READERS = 16;
const UNREAD_MS = 5000;
// 30 s until the first connections are given up, and the time to answer 200 batches.
const READING_MS = 120_000;
const ECHO_EVERY_MS = 20;
const MOST_ECHO_MS = 250;
const FORMATS = ['native', 'openai-chat', 'anthropic'] as const;
type Format = (typeof FORMATS)[number];

const toArguments = (place: number) => ({ path: `${place}.txt`, limit: 131_072 });
const toBody = {
  native: () => ({
    calls: Array.from({ length: CALLS }, (_, i) => ({ id: `c${i}`, name: 'read_file', arguments: toArguments(i) })),
  }),
  'openai-chat': () => ({
    role: 'assistant',
    tool_calls: Array.from({ length: CALLS }, (_, i) => ({
      id: `c${i}`,
      type: 'function',
      function: { name: 'read_file', arguments: JSON.stringify(toArguments(i)) },
    })),
  }),
  anthropic: () => ({
    role: 'assistant',
    content: Array.from({ length: CALLS }, (_, i) => ({
      type: 'tool_use',
      id: `c${i}`,
      name: 'read_file',
      input: toArguments(i),
    })),
  }),
} as const satisfies Record<Format, () => unknown>;
const BODIES = new Map(FORMATS.map((format) => [format, JSON.stringify(toBody[format]())]));
const formatOf = (place: number): Format => FORMATS[place % FORMATS.length] ?? 'native';

const hashOf = (key: string): string => createHash('sha256').update(key).digest('hex');

const startService = async (workspace: string, wrap: ReturnType<typeof createMemoryCage>['wrap']) => {
  const [command, ...words] = wrap([process.execPath, 'src/main.ts']);
  const child = spawn(command, words, {
    cwd: join(import.meta.dirname, '..'),
    env: {
      PATH: process.env['PATH'],
      PORT: '0',
      WORKSPACE_DIR: workspace,
      API_KEYS: `hog=${hashOf('key-hog')},other=${hashOf('key-other')}`,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  child.once('exit', () => reject(new Error('The service did not start.')));
  createInterface({ input: child.stdout }).on('line', (line) => {
    const { msg, port } = z.looseObject({ msg: z.string(), port: z.number().optional() }).parse(JSON.parse(line));
    if (msg === 'listening') resolve(port ?? 0);
  });
  return { child, port: await promise };
};

const sendUnread = async (port: number, place: number): Promise<Socket> => {
  const body = BODIES.get(formatOf(place)) ?? '';
  // Not read: no listener for data, so that the kernel's buffer fills and the service has to keep the rest.
  const socket = connect({ port, host: '127.0.0.1' });
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  const head = `POST /tool-calls HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: key-hog\r\nContent-Type: application/json\r\n`;
  socket.write(`${head}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  return socket;
};

type Answer = { readonly status: number; readonly text: string; readonly retryAfter: number; readonly ms: number };

const post = (port: number, key: string, body: string, agent: Agent): Promise<Answer> => {
  const startedAt = performance.now();
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const headers = { 'content-type': 'application/json', 'x-api-key': key };
  request({ port, host: '127.0.0.1', path: '/tool-calls', method: 'POST', headers, agent }, (answer) => {
    const chunks: Buffer[] = [];
    answer.on('data', (chunk: Buffer) => chunks.push(chunk));
    answer.on('error', reject);
    answer.on('end', () =>
      resolve({
        status: answer.statusCode ?? 0,
        text: Buffer.concat(chunks).toString(),
        retryAfter: Number(answer.headers['retry-after'] ?? 0),
        ms: performance.now() - startedAt,
      }),
    );
  })
    .on('error', reject)
    .end(body);
  return promise;
};

const Results = z.object({
  results: z.array(z.object({ index: z.number(), success: z.boolean(), error: z.unknown() })),
});

/** How many of its calls succeeded; throws where one has no result. */
const judge = (text: string): number => {
  const { results } = Results.parse(JSON.parse(text));
  if (
    results.length !== CALLS ||
    results.some(({ index, success, error }, i) => index !== i || success !== (error === null))
  )
    throw new Error('A call has no result.');
  return results.filter(({ success }) => success).length;
};

const readAll = async (
  port: number,
): Promise<{ readonly refused: number; readonly bytes: number; readonly succeeded: number }> => {
  const agent = new Agent({ keepAlive: true, maxSockets: READERS });
  const counts = { refused: 0, bytes: 0, succeeded: 0 };
  const endsAt = performance.now() + READING_MS;
  let next = 0;
  const readOne = async (place: number): Promise<void> => {
    const answer = await post(port, 'key-hog', BODIES.get(formatOf(place)) ?? '', agent);
    if (answer.status === 200) {
      counts.bytes += answer.text.length;
      counts.succeeded += judge(answer.text);
      return;
    }
    if (answer.status !== 503 || performance.now() > endsAt) throw new Error(`${answer.status}: ${answer.text}`);
    counts.refused += 1;
    await wait(answer.retryAfter * 1000);
    await readOne(place);
  };
  const client = async (): Promise<void> => {
    for (let place = next++; place < REQUESTS; place = next++) await readOne(place);
  };
  await Promise.all(Array.from({ length: READERS }, client));
  agent.destroy();
  return counts;
};

const ECHO = JSON.stringify({ calls: [{ name: 'echo', arguments: { text: 'hi' } }] });

type Echoes = { readonly times: readonly number[]; readonly failures: readonly string[] };

/** In a thread: what this process does with large answers must not be taken for the service's delay. */
const sendEchoes = async (toPort: number): Promise<void> => {
  const agent = new Agent({ keepAlive: true });
  const times: number[] = [];
  const failures: string[] = [];
  const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
  parentPort?.once('message', () => stop());
  const timer = setInterval(() => {
    post(toPort, 'key-other', ECHO, agent).then(
      ({ status, ms, text }) => {
        times.push(ms);
        if (status !== 200) failures.push(text);
      },
      (error: unknown) => failures.push(String(error)),
    );
  }, ECHO_EVERY_MS);
  await stopped;
  clearInterval(timer);
  parentPort?.postMessage({ times, failures } satisfies Echoes);
  agent.destroy();
};

const startEchoes = (toPort: number) => {
  const thread = new Worker(new URL(import.meta.url), { workerData: toPort });
  return {
    stop: async (): Promise<Echoes> => {
      thread.postMessage('stop');
      const [echoes] = await once(thread, 'message');
      return z.object({ times: z.array(z.number()), failures: z.array(z.string()) }).parse(echoes);
    },
  };
};

const percentile = (times: readonly number[], share: number): number =>
  Math.round(times.toSorted((a, b) => a - b)[Math.floor(times.length * share)] ?? 0);

const say = (line: string): void => void process.stdout.write(`${line}\n`);

const attack = async (port: number, child: ChildProcess): Promise<readonly string[]> => {
  const broken: string[] = [];
  const exited = once(child, 'exit').then(([code, signal]): never => {
    throw new Error(`The service ended: ${code ?? signal}.`);
  });
  const echoes = startEchoes(port);
  const run = async (): Promise<void> => {
    await wait(1000);
    const unread = await Promise.all(Array.from({ length: REQUESTS }, (_, place) => sendUnread(port, place)));
    await wait(UNREAD_MS);
    say(`${REQUESTS} answers unread for ${UNREAD_MS / 1000} s: alive`);
    const startedAt = performance.now();
    const { refused, bytes, succeeded } = await readAll(port);
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    say(
      `${REQUESTS} batches read by ${READERS} clients in ${seconds} s: ${bytes >> 20} MiB, ${succeeded} calls succeeded, each has its result; refused at the door before: ${refused}`,
    );
    for (const socket of unread) socket.destroy();
  };
  try {
    await Promise.race([run(), exited]);
  } catch (error) {
    broken.push(String(error));
  }
  const { times, failures } = await echoes.stop();
  const [p50, p99, most] = [0.5, 0.99, 1 - Number.EPSILON].map((share) => percentile(times, share));
  say(
    `${times.length} echo calls of another tenant: p50 ${p50} ms, p99 ${p99} ms, most ${most} ms; failed: ${failures.length}`,
  );
  if ((p99 ?? 0) > MOST_ECHO_MS) broken.push(`p99 of another tenant is over ${MOST_ECHO_MS} ms.`);
  if (failures.length > 0) broken.push(`Another tenant was not served: ${failures[0]}`);
  return broken;
};

const main = async (): Promise<number> => {
  // What is started from here on inherits it.
  setPriority(PRIORITY);
  const workspace = mkdtempSync(join(tmpdir(), 'recourse-unread-'));
  for (let place = 0; place < CALLS; place += 1)
    writeFileSync(join(workspace, `${place}.txt`), '\u0001'.repeat(131_072));
  const cage = createMemoryCage(CAGE_MIB * 1024 * 1024);
  const { child, port } = await startService(workspace, cage.wrap);
  const broken = await attack(port, child);
  say(`peak of the cage: ${Math.round(cage.peakBytes() / 2 ** 20)} of ${CAGE_MIB} MiB`);
  if (child.exitCode === null && child.signalCode === null) {
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  cage.remove();
  rmSync(workspace, { recursive: true });
  for (const problem of broken) say(`BROKEN: ${problem}`);
  return broken.length;
};

if (isMainThread) process.exit((await main()) === 0 ? 0 : 1);
await sendEchoes(z.number().parse(workerData));
