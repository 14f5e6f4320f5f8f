import http from 'node:http';
import { type LabFile, openLab, toOutcome, toolFile } from '@recourse/test-support/isolation-lab.ts';
import { expect, onTestFinished, test } from 'vitest';

// What code of one file changes of its process, and whether another file runs there afterwards.

const PID = toolFile({ pid: 'return process.pid;' });

const IMPORTS = `
  import asyncHooks from 'node:async_hooks';
  import crypto from 'node:crypto';
  import channels from 'node:diagnostics_channel';
  import dns from 'node:dns';
  import { EventEmitter } from 'node:events';
  import fs from 'node:fs';
  import http from 'node:http';
  import https from 'node:https';
  import Module, { registerHooks } from 'node:module';
  import os from 'node:os';
  import { performance, PerformanceObserver } from 'node:perf_hooks';
  import stream from 'node:stream';
  import timers from 'node:timers/promises';
  import tls from 'node:tls';
  import util from 'node:util';
  import v8 from 'node:v8';
  import workers from 'node:worker_threads';
  import zlib from 'node:zlib';
  const sham = () => 'sham';
  const LIST = Object.getPrototypeOf([].keys());
`;

type Together = {
  readonly innocent: LabFile;
  readonly others: readonly LabFile[];
  /** Why hosts became unusable, so far. */
  readonly reasons: string[];
};

/** Loads these files into one process. */
const openTogether = async (bodies: readonly string[]): Promise<Together> => {
  const reasons: string[] = [];
  const lab = openLab({
    maxHosts: 1,
    permissions: ['fs-read', 'fs-write', 'net', 'child', 'worker'],
    hostUnusable: (_tool, _file, reason) => void reasons.push(reason),
  });
  const texts = bodies.map((body) => toolFile({ act: `${body}; return process.pid;` }, IMPORTS));
  const files = await lab.loadAll(
    new Map([['innocent.ts', PID], ...texts.map((text, at) => [`file${at}.ts`, text] as const)]),
  );
  const loaded = [...files.values()].filter((file) => typeof file !== 'string');
  const [innocent, ...others] = loaded;
  if (innocent === undefined || loaded.length < files.size) throw new Error([...files.values()].join());
  return { innocent, others, reasons };
};

const CHANGES: readonly (readonly [body: string, reason: string])[] = [
  ["Object.defineProperty(globalThis, Symbol.for('undici.globalDispatcher.2'), { value: {} })", 'settings of fetch'],
  ["globalThis[Symbol.for('undici.globalDispatcher.1')] = {}", 'settings of fetch'],
  ["globalThis[Symbol.for('shared')] = 1", 'a symbol of globalThis'],
  ['https.globalAgent.options.rejectUnauthorized = false', 'settings of node:https'],
  ['URL.prototype.toString = sham', 'URL.prototype'],
  ['crypto.randomUUID = sham', 'node:crypto'],
  ['console.log = sham', 'console'],
  ['Error.prepareStackTrace = sham', 'Error'],
  ['Error.stackTraceLimit = 1', 'Error'],
  ['Reflect.has = () => false', 'Reflect'],
  ['Array.from = () => []', 'Array'],
  ['Intl.DateTimeFormat = class {}', 'Intl'],
  ['process.umask(0)', 'the umask'],
  ["process.on('warning', sham)", 'the listeners of process'],
  ['Object.getPrototypeOf(Uint8Array).prototype.fill = sham', 'the prototype of Uint8Array.prototype'],
  ['const tick = process.nextTick; process.nextTick = (...all) => tick(...all)', 'process'],
  ['const { next } = LIST; LIST.next = function () { return next.call(this); }', 'a class without a name'],
  ['Math.random = () => 0', 'Math'],
  ["tls.DEFAULT_MIN_VERSION = 'TLSv1'", 'node:tls'],
  ["dns.setServers(['127.0.0.1'])", 'node:dns'],
  // Relatives of these.
  ['Intl.NumberFormat.prototype.formatToParts = sham', 'Intl.NumberFormat.prototype'],
  ["Object.defineProperty(URL.prototype, 'href', { get: sham, configurable: true })", 'URL.prototype'],
  ['Headers.prototype.get = sham', 'Headers.prototype'],
  ['globalThis.Request = class {}', 'globalThis'],
  ['globalThis.fetch = sham', 'globalThis'],
  ['globalThis.crypto.randomUUID = sham', 'crypto'],
  ['globalThis.crypto.subtle.digest = sham', 'crypto.subtle'],
  ['AbortSignal.timeout = sham', 'AbortSignal'],
  ['globalThis.structuredClone = sham', 'globalThis'],
  ['globalThis.queueMicrotask = sham', 'globalThis'],
  ['const before = setTimeout; globalThis.setTimeout = (...all) => before(...all)', 'globalThis'],
  ['timers.setTimeout = sham', 'node:timers/promises'],
  ["Object.defineProperty(globalThis, 'navigator', { get: sham, configurable: true })", 'settings of globalThis'],
  ['process.exitCode = 3', 'settings of process'],
  ['process.stdout.write = () => true', 'settings of process'],
  ['Buffer.poolSize = 1', 'Buffer'],
  ['EventEmitter.defaultMaxListeners = 1', 'settings of node:events'],
  ['EventEmitter.captureRejections = true', 'settings of node:events'],
  ['http.globalAgent.maxSockets = 1', 'settings of node:http'],
  ['http.globalAgent = new http.Agent()', 'settings of node:http'],
  ['WebAssembly.compile = sham', 'WebAssembly'],
  ['Atomics.load = sham', 'Atomics'],
  ['performance.now = sham', 'performance'],
  ['fs.promises.readFile = sham', 'node:fs.promises'],
  ["Module._extensions['.txt'] = sham", 'node:module._extensions'],
  ['registerHooks({})', 'node:module registerHooks'],
  ["process.getBuiltinModule('zlib').gzipSync = sham", 'node:zlib'],
  ['util.inspect.defaultOptions.depth = 0', 'settings of node:util'],
  ["dns.setDefaultResultOrder('ipv6first')", 'settings of node:dns'],
  ['stream.setDefaultHighWaterMark(false, 1)', 'settings of node:stream'],
  ['tls.setDefaultCACertificates([])', 'settings of node:tls'],
  ["channels.subscribe('undici:request:create', sham)", 'a subscription to a channel'],
  ['asyncHooks.createHook({ init: () => undefined }).enable()', 'an async hook'],
  ["v8.setFlagsFromString('--stack-size=900')", 'node:v8 setFlagsFromString'],
  ["workers.setEnvironmentData('key', 1)", 'node:worker_threads setEnvironmentData'],
  ['Object.freeze(Iterator.prototype)', 'Iterator.prototype'],
  // What ordinary code may change, and what leads to it.
  ["process.title = 'mine'", 'process'],
  ['process.noDeprecation = true', 'settings of process'],
  ["process[Symbol.for('shared')] = 1", 'settings of process'],
  ["process.argv.push('--mine')", 'settings of process'],
  ['process.emit = sham', 'settings of process'],
  ['process.release.mine = 1', 'process.release'],
  ['process.hrtime.bigint = () => 1n', 'process.hrtime'],
  ['process.stderr._write = sham', 'settings of process'],
  ["Array[Symbol.for('shared')] = 1", 'Array'],
  ['Object.defineProperty(Map, Symbol.hasInstance, { value: () => true, configurable: true })', 'Map'],
  ['https.globalAgent.getName = sham', 'settings of node:https'],
  ['http.globalAgent.defaultPort = 1', 'settings of node:http'],
  ["http.globalAgent.on('free', sham)", 'settings of node:http'],
  ['asyncHooks.AsyncLocalStorage.prototype.getStore = sham', 'node:async_hooks.AsyncLocalStorage.prototype'],
  ["Module.globalPaths.push('/mine')", 'node:module.globalPaths'],
  ["Module.wrapper[0] = '(function () {'", 'node:module.wrapper'],
  ['Object.getPrototypeOf([].values().map(String)).next = sham', 'a class without a name'],
  ['Object.getPrototypeOf(new URLSearchParams().values()).next = sham', 'a class without a name'],
  ['Object.getPrototypeOf(new Headers().values()).next = sham', 'a class without a name'],
  ['Object.getPrototypeOf(setImmediate(sham)).hasRef = sham', 'a class without a name'],
  ["globalThis[Symbol.for('undici.globalDispatcher.2')].dispatch = sham", 'settings of fetch'],
  [
    "Object.getPrototypeOf(globalThis[Symbol.for('undici.globalDispatcher.2')]).dispatch = sham",
    'a class without a name',
  ],
  [
    "const agent = globalThis[Symbol.for('undici.globalDispatcher.2')]; agent[Object.getOwnPropertySymbols(agent).find((one) => one.description === 'options')].connect = sham",
    'settings of fetch',
  ],
  ["channels.channel('child_process').subscribe(sham)", 'a subscription to a channel'],
  ["new PerformanceObserver(sham).observe({ entryTypes: ['http'] })", 'an observer of performance'],
  ['os.setPriority(os.getPriority())', 'node:os setPriority'],
];

// What handlers do every day. Nothing listens at port 1.
const toOrdinary = (url: string): string => `
  await (await fetch('${url}')).text();
  await new Promise((resolve) => http.get('${url}', (answer) => answer.resume().on('end', resolve)));
  const failed = await fetch('http://127.0.0.1:1').then(() => false, () => true);
  const text = await (await fetch('data:,text')).text();
  await new Promise((resolve) => http.get('http://127.0.0.1:1').on('error', resolve));
  await new Promise((resolve) => https.get('https://127.0.0.1:1').on('error', resolve));
  await dns.promises.lookup('localhost');
  await fs.promises.readFile('/proc/self/comm');
  await stream.promises.pipeline(fs.createReadStream('/proc/self/comm').pipe(zlib.createGzip()), zlib.createGunzip(), new stream.PassThrough().resume());
  await new Promise((resolve) => spawn('true').on('close', resolve));
  new Intl.DateTimeFormat('de', { timeZone: 'UTC' }).format(new Date());
  console.log(util.inspect({ text }), crypto.randomUUID(), globalThis.crypto.randomUUID());
  console.time('t'); console.timeEnd('t'); console.count('c'); console.error('e');
  crypto.createHash('sha256').update('x').digest('hex');
  await crypto.subtle.digest('SHA-256', new Uint8Array(4));
  await new Blob(['x']).text();
  structuredClone({ a: new Date(), b: new Map() });
  AbortSignal.timeout(1); AbortSignal.any([AbortSignal.abort()]);
  await wait(2);
  performance.mark('m'); performance.measure('n', 'm'); performance.clearMarks();
  new URL('http://x/?a=b').searchParams.get('a'); new TextDecoder().decode(new TextEncoder().encode('ä'));
  new EventEmitter().on('x', () => undefined).emit('x');
  new EventTarget().dispatchEvent(new CustomEvent('x'));
  const { port1, port2 } = new MessageChannel(); port1.close(); port2.close();
  setImmediate(sham); channels.channel('mine').subscribe(sham); channels.channel('mine').unsubscribe(sham);
  process.stdout.on('error', sham); process.listenerCount('exit'); os.getPriority();
  await new asyncHooks.AsyncLocalStorage().run(1, () => wait(1));
  tls.createSecureContext(); /(?<x>a)/.exec('ba'); new Error('e', { cause: 1 }).stack;
  process.emitWarning('careful'); process.memoryUsage(); process.umask(); process.hrtime.bigint(); v8.getHeapStatistics();
  await import('node:readline'); await import('node:sqlite'); Module.createRequire(import.meta.url)('node:os').cpus();
  process.getBuiltinModule('node:zlib').gzipSync('x'); workers.isMainThread; channels.channel('mine').hasSubscribers;
  if (!failed || text !== 'text') throw new Error('fetch')`;

test('ordinary code changes nothing: other files run in its process afterwards', async () => {
  const server = http.createServer((_request, answer) => void answer.end('text'));
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close().closeAllConnections());
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : null;
  const { innocent, others } = await openTogether([toOrdinary(`http://127.0.0.1:${port}`)]);
  const pids = [];
  for (const file of [innocent, ...others, innocent, ...others, innocent])
    pids.push(toOutcome(await file.call(file === innocent ? 'pid' : 'act')));
  expect(pids.map((pid) => (typeof pid === 'number' ? 'ran' : pid))).toEqual(Array.from({ length: 5 }, () => 'ran'));
  expect(new Set(pids).size).toBe(1);
});

// Each change ends a process, and the next one loads all files of its lab anew.
const TOGETHER = 12;
const GROUPS = Array.from({ length: Math.ceil(CHANGES.length / TOGETHER) }, (_, at) => ({
  part: at + 1,
  changes: CHANGES.slice(at * TOGETHER, (at + 1) * TOGETHER),
}));

test.each(GROUPS)(
  'no other file runs in a process whose shared objects and settings a file has changed (part $part)',
  async ({ changes }) => {
    const { innocent, others, reasons } = await openTogether(changes.map(([body]) => body));
    const found: unknown[] = [];
    for (const [at, [body]] of changes.entries()) {
      const before = toOutcome(await innocent.call('pid'));
      const [guilty] = others.slice(at);
      if (guilty === undefined || toOutcome(await guilty.call('act')) !== before)
        throw new Error(`${body}: did not share`);
      const after = toOutcome(await innocent.call('pid'));
      found.push([body, typeof after === 'number' && after !== before ? reasons.splice(0).join() : 'shared']);
    }
    expect(found).toEqual(changes);
  },
);

// What a file that looks for the other files' orders comes by, without knowing the descriptors' numbers.
const SPY = `
  const resource = asyncHooks.executionAsyncResource();
  const listed = [...process._getActiveHandles(), ...process._getActiveRequests(), resource];
  const owned = Reflect.ownKeys(resource).map((key) => resource[key]);
  const lines = [...listed, ...owned].filter((one) => [3, 4].includes(one?.fd ?? one?._handle?.fd ?? one?.handle?.fd));
  for (const line of lines) line.on?.('data', () => undefined);
  return { lines: lines.map(({ constructor }) => constructor.name), resource: resource.constructor.name }`;

test('what Node lists of a process leads to neither line to the service', async () => {
  const { innocent, others } = await openTogether([SPY]);
  const seen = await Promise.all(others.map((file) => file.call('act').then(toOutcome)));
  expect(seen).toEqual([{ lines: [], resource: 'AsyncResource' }]);
  expect(toOutcome(await innocent.call('pid'))).toBeTypeOf('number');
});
