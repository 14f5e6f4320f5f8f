// Kept here, before a tool's code could put its own in their place.
// The first look at its output also opens that: else the first file that writes would leave something open.
const { getBuiltinModule, stdout, stderr } = process;
const { get } = Reflect;
const { keys, values, is } = Object;

/** Settings of Node that no member of an object shows, by the module that has them. Each gives their values now. */
const SETTINGS: ReadonlyMap<string, () => readonly unknown[]> = new Map<string, () => readonly unknown[]>([
  [
    'globalThis',
    () => ['process', 'Buffer', 'crypto', 'performance', 'navigator'].map((name) => get(globalThis, name)),
  ],
  ['process', () => [process.exitCode, process.hasUncaughtExceptionCaptureCallback(), stdout.write, stderr.write]],
  ['node:crypto', () => [getBuiltinModule('node:crypto').getFips()]],
  ['node:diagnostics_channel', () => channels.map(({ hasSubscribers }) => hasSubscribers)],
  ['node:dns', () => [getBuiltinModule('node:dns').getDefaultResultOrder()]],
  ['node:events', () => [events.defaultMaxListeners, events.captureRejections]],
  ['node:http', () => toAgentSettings(getBuiltinModule('node:http').globalAgent)],
  ['node:https', () => toAgentSettings(getBuiltinModule('node:https').globalAgent)],
  ['node:net', () => [net.getDefaultAutoSelectFamily(), net.getDefaultAutoSelectFamilyAttemptTimeout()]],
  ['node:stream', () => [true, false].map(stream.getDefaultHighWaterMark)],
  ['node:tls', () => [getBuiltinModule('node:tls').getCACertificates('default')]],
  ['node:util', () => values(util.inspect.defaultOptions)],
]);

const [events, net, stream, util] = [
  getBuiltinModule('node:events'),
  getBuiltinModule('node:net'),
  getBuiltinModule('node:stream'),
  getBuiltinModule('node:util'),
];

// Whoever subscribes to one of them is shown what all files ask of the web, headers included.
const channels = [
  'http.client.request.created',
  'http.client.request.start',
  'http.client.response.finish',
  'net.client.socket',
  'undici:request:create',
  'undici:request:headers',
  'undici:client:sendHeaders',
  'undici:client:connected',
  'undici:websocket:open',
].map((name) => getBuiltinModule('node:diagnostics_channel').channel(name));

const toAgentSettings = (agent: object): readonly unknown[] => {
  const options: unknown = get(agent, 'options');
  const own = ['createConnection', 'keepAlive', 'maxSockets', 'maxFreeSockets', 'maxTotalSockets'].map((name) =>
    get(agent, name),
  );
  return typeof options === 'object' && options !== null
    ? [agent, ...own, options, ...keys(options), ...values(options)]
    : [agent, ...own, options];
};

/** Remembers the settings of these modules; gives what tells the module of one that has changed. null where none has. */
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
