import { listAgentsOfFetch } from './shared-objects.ts';

// Kept here, before a tool's code could put its own in their place.
// The first look at its output also opens that: else the first file that writes would leave something open.
const { getBuiltinModule, stdout, stderr } = process;
const { get, ownKeys } = Reflect;
const { keys, values, is } = Object;

/** Settings of Node that no member of an object shows, by the module that has them. Each gives their values now. */
const SETTINGS: ReadonlyMap<string, () => readonly unknown[]> = new Map<string, () => readonly unknown[]>([
  [
    'globalThis',
    () => ['process', 'Buffer', 'crypto', 'performance', 'navigator'].map((name) => get(globalThis, name)),
  ],
  [
    'process',
    () => [
      process.exitCode,
      process.hasUncaughtExceptionCaptureCallback(),
      ...process.argv,
      ...process.execArgv,
      ...[stdout, stderr].flatMap(listMethods),
      ownKeys(process).length,
    ],
  ],
  ['node:crypto', () => [getBuiltinModule('node:crypto').getFips()]],
  ['node:dns', () => [getBuiltinModule('node:dns').getDefaultResultOrder()]],
  ['node:events', () => [events.defaultMaxListeners, events.captureRejections]],
  ['node:http', () => listAgent(getBuiltinModule('node:http').globalAgent)],
  ['node:https', () => listAgent(getBuiltinModule('node:https').globalAgent)],
  ['node:net', () => [net.getDefaultAutoSelectFamily(), net.getDefaultAutoSelectFamilyAttemptTimeout()]],
  ['node:stream', () => [true, false].map(stream.getDefaultHighWaterMark)],
  ['node:tls', () => [getBuiltinModule('node:tls').getCACertificates('default')]],
  ['fetch', () => listAgentsOfFetch().flatMap(listAgent)],
  ['node:util', () => values(util.inspect.defaultOptions)],
]);

const [events, net, stream, util] = [
  getBuiltinModule('node:events'),
  getBuiltinModule('node:net'),
  getBuiltinModule('node:stream'),
  getBuiltinModule('node:util'),
];

// What agents of `http` and `https` change by themselves.
const LIVELY: ReadonlySet<PropertyKey> = new Set(['requests', 'sockets', 'freeSockets', 'totalSocketCount']);

/** An agent, its own members, and each of its options and listeners. */
const listAgent = (agent: object): readonly unknown[] => {
  const members = ownKeys(agent).flatMap((key) => {
    if (LIVELY.has(key)) return [];
    const value: unknown = get(agent, key);
    const isPlain = typeof value === 'object' && value !== null && !(Symbol.iterator in value);
    return isPlain ? [key, ...keys(value), ...values(value)] : [key, value];
  });
  return [agent, ...members];
};

/** What code has put in place of a stream's methods. */
const listMethods = (stream: object): readonly unknown[] =>
  values(stream).filter((value) => typeof value === 'function');

/** Remembers the settings of these modules; the returned look names the module of one that has changed; null where none has. */
export const watchSettings = (module: string): (() => string | null) => {
  const read = SETTINGS.get(module);
  if (read === undefined) return () => null;
  const before = read();
  return () => {
    const now = read();
    const isSame = now.length === before.length && now.every((value, at) => is(value, before[at]));
    return isSame ? null : `settings of ${module}`;
  };
};

/** Remembers who listens to the process. */
export const watchListeners = (): (() => string | null) => {
  const list = (): readonly unknown[] =>
    process.eventNames().flatMap((event) => [event, ...process.rawListeners(event)]);
  const before = list();
  return () => {
    const now = list();
    return now.length === before.length && now.every((value, at) => value === before[at])
      ? null
      : 'the listeners of process';
  };
};
