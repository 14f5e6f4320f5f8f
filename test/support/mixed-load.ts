import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { makeDirectory, type TemporaryDirectory } from '@recourse/test-support/temporary-directory.ts';
import { expect, onTestFinished } from 'vitest';
import { breakToolFile, changeKeys, makeToolFiles } from './mixed-load-files.ts';
import { createMixedLoadKeys, type MixedLoadKeys } from './mixed-load-keys.ts';
import { type Client, createClient } from './mixed-load-requests.ts';
import {
  breakConfigFile,
  createMixedLoadUpstream,
  loseUpstream,
  type MixedLoadUpstream,
} from './mixed-load-upstream.ts';
import { startRedisServer } from './redis-server.ts';
import { startProcess } from './start-process.ts';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts';
import { timeLimit } from './time-limit.ts';

/** A service to which everything happens that it counts: a process of its own, with Redis, keys and a tools directory. */
export type MixedLoad = {
  /** `host:port` of its metrics. */
  readonly target: string;
  /** The value of a metric, over all its series; NaN where there is none. */
  readonly metric: (name: string, label?: string) => Promise<number>;
  /** Makes everything happen once. */
  readonly send: () => Promise<void>;
};

// A machine that is busy with something else takes its time.
const PATIENCE = { timeout: timeLimit(20_000), interval: 50 };

const TOKEN = 'mixed-load-4f1d9a7be0c2';

const SETTINGS = {
  // Not about a lagging event loop: a busy machine would have all batches refused.
  MAX_EVENT_LOOP_LAG_MS: '60000',
  MAX_RESULT_BYTES: '20000',
  MAX_CONCURRENT_CALLS: '4',
  MAX_QUEUED_CALLS: '16',
  TOOL_HOSTS_MAX: '6',
  TOOL_HOST_MEMORY_MB: '160',
  TOOL_HOST_MAX_CALLS: '8',
  TOOLS_INLINE: 'waits,dawdles,blocks',
  TOOLS_ENV_ALLOW: 'MIXED_LOAD_TOKEN',
  MIXED_LOAD_TOKEN: TOKEN,
  SESSION_RETRIES: '5',
  CIRCUIT_FAILURES: '4',
  CIRCUIT_OPEN_MS: '500',
} as const;

/** Gone with its test. */
export const startMixedLoad = async (): Promise<MixedLoad> => {
  const redis = await startRedisServer();
  const proxy = await startTcpProxy({ to: redis.port });
  onTestFinished(async () => {
    proxy.close();
    await redis.stop();
  });
  const tools = makeToolFiles();
  const folder = makeDirectory().root;
  const keys = createMixedLoadKeys(folder);
  const upstream = createMixedLoadUpstream(folder);
  const service = await startProcess({
    by: 'node',
    environment: {
      ...SETTINGS,
      REDIS_URL: `redis://127.0.0.1:${proxy.port}`,
      TOOLS_DIR: tools.root,
      API_KEYS_FILE: keys.file,
      METRICS_TENANTS: 'acme',
      CONFIG_FILE: upstream.file,
    },
  });
  const metric = (name: string, label = ''): Promise<number> => readMetric(service.url, name, label);
  const scene: Scene = { ...createClient(service.url, keys), keys, tools, upstream, proxy, metric };
  await whenStoreServes(scene);
  return {
    target: `127.0.0.1:${service.port}`,
    metric,
    send: async () => {
      for (const act of ACTS) await act(scene);
    },
  };
};

type Scene = Client &
  Pick<MixedLoad, 'metric'> & {
    readonly keys: MixedLoadKeys;
    readonly tools: TemporaryDirectory;
    readonly upstream: MixedLoadUpstream;
    readonly proxy: TcpProxy;
  };

const readMetric = async (url: string, name: string, label: string): Promise<number> => {
  const text = await (await fetch(`${url}/metrics`)).text();
  const lines = text.split('\n').filter((line) => /[ {]/.test(line.charAt(name.length)) && line.startsWith(name));
  const values = lines.filter((line) => line.includes(label)).map((line) => Number(line.slice(line.lastIndexOf(' '))));
  return values.length === 0 ? Number.NaN : values.reduce((total, value) => total + value);
};

const whenStoreServes = ({ batch, metric }: Scene): Promise<void> =>
  expect
    .poll(async () => {
      await batch(['echo'], inSession());
      return metric('recourse_session_store_up');
    }, PATIENCE)
    .toBe(1);

const inSession = (id: string = randomUUID()) => ({ envelope: { session_id: id } });

/** The same calls again and again, one batch after the other. */
const repeat = async (times: number, act: (time: number) => Promise<unknown>): Promise<void> => {
  for (let time = 0; time < times; time += 1) await act(time);
};

const ECHO = { name: 'echo', arguments: { text: 'x' } };

const work = async ({ batch }: Scene): Promise<void> => {
  await repeat(5, () => batch([ECHO, ECHO, 'works', 'works', { name: 'list_files' }], inSession()));
  await repeat(3, () => batch([ECHO]));
  await repeat(3, () => batch([ECHO, 'echo'], { envelope: { dry_run: true } }));
};

/** Every family of failures, each call in a batch of its own: one does not use up the budget of another. */
const failEachWay = async ({ batch }: Scene): Promise<void> => {
  const calls = [
    'no_such_tool',
    {},
    { name: 'echo', arguments: '{' },
    'fails',
    'wants_more',
    'gives_up',
    'loses_its_upstream',
    'is_limited',
    'is_fatal',
    'answers_no_json',
    'answers_too_much',
    'dawdles',
    'leaks',
    'throws_late',
  ];
  for (const call of calls) await batch([call]);
  await batch(Array.from({ length: 65 }, () => ECHO));
  await batch(['fails', 'works'], { envelope: { order: 'sequential', on_error: 'stop' } });
};

const dieEachWay = async ({ batch }: Scene): Promise<void> => {
  await Promise.all(['hangs', 'exits', 'aborts', 'dies_writing', 'hogs'].map((name) => batch([name])));
  await Promise.all(['guesses_a_nonce', 'answers_three_times', 'many_forged_answers'].map((name) => batch([name])));
};

/** The retries of a tool, those of a session, and a loop. Their tools blame the caller: no circuit opens. */
const useUpSessions = async ({ batch }: Scene): Promise<void> => {
  const [ofTool, ofSession, loop] = [inSession(), inSession(), inSession()];
  const failing = (names: readonly string[], n: number) => names.map((name) => ({ name, arguments: { n } }));
  await repeat(5, (n) => batch(failing(['wants_more'], n), ofTool));
  await repeat(4, (n) => batch(failing(['wants_more', 'wants_else'], n), ofSession));
  await repeat(3, () => batch(['wants_more'], loop));
};

const openCircuit = ({ batch }: Scene): Promise<void> => repeat(6, () => batch(['keeps_breaking']));

const sendKeyed = async ({ batch }: Scene): Promise<void> => {
  const keyed = (key: string) => ({ headers: { 'idempotency-key': key } });
  const [twice, twoBodies, atOnce] = [randomUUID(), randomUUID(), randomUUID()];
  await repeat(2, () => batch(['writes_slowly'], keyed(twice)));
  await batch([ECHO], keyed(twoBodies));
  await batch(['works'], keyed(twoBodies));
  await Promise.all([1, 2, 3].map(() => batch(['writes_slowly'], keyed(atOnce))));
};

const comeUninvited = async ({ batch, ask, keys }: Scene): Promise<void> => {
  await batch([ECHO], { key: null });
  await batch([ECHO], { key: 'a-guess' });
  await batch([ECHO], { key: keys.expired });
  await batch([ECHO], { key: keys.reader });
  await batch([ECHO, 'works'], { key: keys.echoing });
  await batch([ECHO], { headers: { origin: 'https://evil.example' } });
  await Promise.all(Array.from({ length: 8 }, () => batch([ECHO], { key: keys.limited })));
  await ask('GET', '/tools');
  await ask('GET', '/nope');
  await ask('GET', `/sessions/${randomUUID()}`);
};

const blockAll = async ({ batch }: Scene): Promise<void> => {
  await batch(['blocks']);
};

const waits = (calls: number) => Array.from({ length: calls }, () => 'waits');

/** Four calls run at once and sixteen may wait: some come too many, some at a full queue, and one is in a hurry. */
const overload = async ({ batch, metric }: Scene): Promise<void> => {
  const reasons = ['queue', 'queue_full', 'deadline'];
  const countShed = () => Promise.all(reasons.map((reason) => metric('recourse_shed_total', `"${reason}"`)));
  // One after the other, so that each finds the queue as the one before left it.
  const burst = async (): Promise<void> => {
    const early = batch(waits(8));
    await pause(50);
    const hurried = batch(waits(1), { envelope: { deadline_ms: 50 } });
    const many = batch(waits(16));
    await pause(50);
    await Promise.all([early, hurried, many, batch(waits(16)), batch(waits(1))]);
  };
  const before = await countShed();
  const fewer = async () => {
    await burst();
    const after = await countShed();
    return reasons.filter((_, place) => !((after[place] ?? 0) > (before[place] ?? 0)));
  };
  await expect.poll(fewer, PATIENCE).toEqual([]);
  await batch(Array.from({ length: 6 }, () => 'waits_hosted'));
};

const loseStore = async (scene: Scene): Promise<void> => {
  const { batch, proxy, keys } = scene;
  proxy.refuse();
  proxy.cut();
  await repeat(2, () => batch([ECHO], inSession()));
  await batch([ECHO], { headers: { 'idempotency-key': randomUUID() } });
  await batch([ECHO], { key: keys.limited });
  await proxy.accept();
  await whenStoreServes(scene);
};

const ACTS: readonly ((scene: Scene) => Promise<void>)[] = [
  work,
  failEachWay,
  useUpSessions,
  openCircuit,
  sendKeyed,
  comeUninvited,
  changeKeys,
  breakToolFile,
  loseUpstream,
  breakConfigFile,
  dieEachWay,
  blockAll,
  overload,
  loseStore,
  work,
];
