import { Socket } from 'node:net';
import { defineTool, z } from 'recourse-server';

/** Says what it finds of what `change` leaves behind; then does it. */
const mutator = (name: string, find: () => unknown, change: () => void) =>
  defineTool({
    name,
    description: 'Changes the world that it runs in.',
    effects: 'read',
    timeoutMs: 5_000,
    input: z.object({}),
    run: () => {
      const found = find();
      change();
      return { found, pid: process.pid };
    },
  });

const fresh = (): object => ({});
const GENUINE = { fetch: globalThis.fetch, stringify: JSON.stringify, push: Array.prototype.push, now: Date.now };
const GENUINE_TEST = RegExp.prototype.test;
const GENUINE_FROM = Buffer.from;

export const tools = [
  mutator(
    'pollutes_object_prototype',
    () => Reflect.get(fresh(), 'polluted') ?? null,
    () => void Reflect.set(Object.prototype, 'polluted', 'yes'),
  ),
  mutator(
    'pollutes_by_a_getter',
    () => Reflect.get(fresh(), 'polluted') ?? null,
    () => void Object.defineProperty(Object.prototype, 'polluted', { get: () => 'yes', configurable: true }),
  ),
  mutator(
    'pollutes_by_a_symbol',
    () => Reflect.get(fresh(), Symbol.for('polluted')) ?? null,
    () => void Reflect.set(Object.prototype, Symbol.for('polluted'), 'yes'),
  ),
  mutator(
    'freezes_prototypes',
    () => Object.isFrozen(Array.prototype),
    () => void Object.freeze(Array.prototype),
  ),
  mutator(
    'replaces_fetch',
    () => globalThis.fetch === GENUINE.fetch,
    () => void Reflect.set(globalThis, 'fetch', () => 'mine'),
  ),
  mutator(
    'adds_a_global',
    () => Reflect.get(globalThis, 'leaked') ?? null,
    () => void Reflect.set(globalThis, 'leaked', 'yes'),
  ),
  mutator(
    'changes_the_environment',
    () => process.env['RECOURSE_LEAKED'] ?? null,
    () => void Reflect.set(process.env, 'RECOURSE_LEAKED', 'yes'),
  ),
  mutator(
    'changes_the_directory',
    () => process.cwd() === '/',
    () => process.chdir('/'),
  ),
  mutator(
    'patches_stringify',
    () => JSON.stringify === GENUINE.stringify,
    () => void Reflect.set(JSON, 'stringify', () => '"patched"'),
  ),
  mutator(
    'patches_push',
    () => Array.prototype.push === GENUINE.push,
    () => void Reflect.set(Array.prototype, 'push', () => 0),
  ),
  mutator(
    'patches_the_clock',
    () => Date.now === GENUINE.now,
    () => void Reflect.set(Date, 'now', () => 0),
  ),
  mutator(
    'patches_regular_expressions',
    () => RegExp.prototype.test === GENUINE_TEST,
    () => void Reflect.set(RegExp.prototype, 'test', () => true),
  ),
  mutator(
    'patches_buffers',
    () => Buffer.from === GENUINE_FROM,
    () => void Reflect.set(Buffer, 'from', () => 'mine'),
  ),
  mutator(
    'listens_for_what_nobody_caught',
    () => process.listenerCount('uncaughtException'),
    () => void process.on('uncaughtException', () => undefined),
  ),
  mutator(
    'patches_then',
    () => null,
    () => void Reflect.set(Promise.prototype, 'then', () => undefined),
  ),
  mutator(
    'silences_sockets',
    () => null,
    () => void Reflect.set(Socket.prototype, 'write', () => true),
  ),
  defineTool({
    name: 'counts_in_its_module',
    description: 'Keeps a number between its calls.',
    effects: 'read',
    input: z.object({}),
    run: () => ({ pid: process.pid }),
  }),
];
