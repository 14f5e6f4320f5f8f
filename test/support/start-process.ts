import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { onTestFinished, type TestContext } from 'vitest';
import { FROM_SOURCES } from './node-flags.ts';
import type { LogLine } from './start-service.ts';
import { timeLimit } from './time-limit.ts';
import { whenLoaded } from './when-loaded.ts';

/** Who gets a signal: the service alone, what started it (npm), or the whole process group, as by a terminal's Ctrl-C. */
export type SignalTarget = 'service' | 'starter' | 'group';

export type ProcessExit = { readonly code: number | null; readonly signal: NodeJS.Signals | null };

export type EndedProcess = ProcessExit & {
  readonly stdout: string;
  readonly stderr: string;
};

/** A service in a process of its own, started as a user starts it. Killed with its process group when the test ends. */
export type RunningProcess = {
  readonly url: string;
  readonly port: number;
  /** Of the service, also where npm started it. */
  readonly pid: number;
  /** Everything on stdout that is a line of the log. */
  readonly logLines: () => readonly LogLine[];
  readonly stderr: () => string;
  /** Resolves with the first log line of this message, also where it came before; rejects when the process ends without. */
  readonly logged: (message: string) => Promise<LogLine>;
  readonly send: (signal: NodeJS.Signals, target: SignalTarget) => void;
  /** Of what was started: the service, or the npm around it. */
  readonly exited: Promise<ProcessExit>;
};

export type Launch = {
  /** `node`, `npm`, `npx` (of the package installed in `cwd`), or a file under test/support that starts a service of its own kind. */
  readonly by: 'node' | 'npm' | 'npx' | `test/support/${string}`;
  readonly environment?: Readonly<Record<string, string>>;
  /** The working directory; left out: the repository. */
  readonly cwd?: string;
  /** The number of a user to start it as; only root can. */
  readonly user?: number;
  /** What stands behind the command, such as `--port 0`. */
  readonly words?: readonly string[];
  /** `hidden`: it starts in a mount namespace without /proc (see `canHideProc`). */
  readonly proc?: 'hidden';
  /** Of the test that it ends with. Left out: of the one that runs; where tests run at once each names its own. */
  readonly onTestFinished?: TestContext['onTestFinished'];
};

export const ROOT = join(import.meta.dirname, '../..');
// It listens after about a second; a machine under full load takes longer.
const START_TIMEOUT_MS = timeLimit(20_000);

const toCommand = ({ by, user, proc, words = [] }: Launch): readonly [string, ...string[]] => {
  if (proc === 'hidden') return [...WITHOUT_PROC, ...toCommand({ by, words })];
  if (user !== undefined) return ['setpriv', ...toUserWords(user), ...toCommand({ by, words })];
  if (by === 'npm') return ['npm', 'start', '--', ...words];
  if (by === 'npx') return ['npx', '--no', 'recourse-server', ...words];
  return ['node', ...FROM_SOURCES, join(ROOT, by === 'node' ? 'src/main.ts' : by), ...words];
};

const HIDE_PROC = 'mount --make-rprivate / && mount -t tmpfs none /proc && exec "$0" "$@"';
const WITHOUT_PROC = ['unshare', '--mount', 'sh', '-c', HIDE_PROC] as const;

/** Whether this machine lets the tests start a process without /proc. */
export const canHideProc = (): boolean => {
  const [command, ...words] = WITHOUT_PROC;
  return spawnSync(command, [...words, 'true']).status === 0;
};

const toUserWords = (user: number): readonly string[] => [`--reuid=${user}`, `--regid=${user}`, '--clear-groups'];

/** Whether this machine lets the tests start a service as this user: they are root, and the user may read the project. */
export const canStartAs = (user: number): boolean =>
  spawnSync('setpriv', [...toUserWords(user), 'node', '--version'], { env: cleanEnvironment({}) }).status === 0;

/** What the child sees: no setting of whoever runs the tests, and the Node that npm scripts would get. */
export const cleanEnvironment = (settings: Readonly<Record<string, string>>): NodeJS.ProcessEnv => ({
  PATH: [dirname(process.execPath), join(ROOT, 'node_modules/.bin'), process.env['PATH']].join(delimiter),
  HOME: process.env['HOME'],
  npm_config_update_notifier: 'false',
  // As `npm start` has it.
  NODE_COMPILE_CACHE: join(ROOT, 'node_modules/.cache/recourse/compiled'),
  ...settings,
});

type Child = {
  readonly process: ChildProcess;
  readonly pid: number;
  readonly stdout: string[];
  readonly stderr: string[];
  readonly exited: Promise<ProcessExit>;
};

const launch = ({
  environment = {},
  cwd = ROOT,
  onTestFinished: whenOver = onTestFinished,
  ...start
}: Launch): Child => {
  const [command, ...words] = toCommand(start);
  // Detached: it leads a process group, which can be told to end and be cleared away as a whole.
  const child = spawn(command, words, {
    cwd,
    env: cleanEnvironment(environment),
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const { pid, stdout, stderr } = child;
  if (pid === undefined) throw new Error(`${command} cannot be started.`);
  const texts = { stdout: [] as string[], stderr: [] as string[] };
  stdout.setEncoding('utf8').on('data', (text: string) => void texts.stdout.push(text));
  stderr.setEncoding('utf8').on('data', (text: string) => void texts.stderr.push(text));
  const { promise: exited, resolve } = Promise.withResolvers<ProcessExit>();
  // 'close', not 'exit': only then everything it wrote has been read.
  child.once('close', (code, signal) => resolve({ code, signal }));
  whenOver(async () => {
    signalIfThere(-pid, 'SIGKILL');
    await exited;
  });
  return { process: child, pid, ...texts, exited };
};

// What has ended already needs no signal.
const signalIfThere = (pid: number, signal: NodeJS.Signals): void => {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
};

/** Starts the service and waits for its log line `listening`. Rejects with what it wrote where it ends before. */
export const startProcess = async ({ environment = {}, ...start }: Launch): Promise<RunningProcess> => {
  const child = launch({ ...start, environment: { PORT: '0', MAX_EVENT_LOOP_LAG_MS: '60000', ...environment } });
  const log = readLog(child);
  const port = (await log.logged('listening'))['port'];
  if (typeof port !== 'number') throw new Error('The log line `listening` names no port.');
  await whenLoaded(log.lines);
  const service = start.by === 'npm' ? onlyChildOf(child.pid) : child.pid;
  const pids = { service, starter: child.pid, group: -child.pid };
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    pid: service,
    logLines: log.lines,
    stderr: () => child.stderr.join(''),
    logged: log.logged,
    send: (signal, target) => signalIfThere(pids[target], signal),
    exited: child.exited,
  };
};

/** A worker in a process of its own: it has no port for calls. */
export type RunningWorker = Omit<RunningProcess, 'url' | 'port'>;

/** Starts a worker and waits for its log line `working`. Rejects with what it wrote where it ends before. */
export const startWorkerProcess = async ({ environment = {}, ...start }: Launch): Promise<RunningWorker> => {
  const settings = { PORT: '0', MAX_EVENT_LOOP_LAG_MS: '60000', ROLE: 'worker', ...environment };
  const child = launch({ ...start, environment: settings });
  const log = readLog(child);
  await log.logged('working');
  await whenLoaded(log.lines);
  const pids = { service: child.pid, starter: child.pid, group: -child.pid };
  return {
    pid: child.pid,
    logLines: log.lines,
    stderr: () => child.stderr.join(''),
    logged: log.logged,
    send: (signal, target) => signalIfThere(pids[target], signal),
    exited: child.exited,
  };
};

/** Starts the service with settings it cannot serve with, and waits for its end. */
export const runToEnd = async (settings: Launch): Promise<EndedProcess> => {
  const child = launch(settings);
  const exit = await Promise.race([child.exited, rejectAfter(START_TIMEOUT_MS, 'The process did not end.')]);
  return { ...exit, stdout: child.stdout.join(''), stderr: child.stderr.join('') };
};

const rejectAfter = async (ms: number, problem: string): Promise<never> => {
  const signal = AbortSignal.timeout(ms);
  await once(signal, 'abort');
  throw new Error(problem);
};

const readLog = (child: Child): Pick<RunningProcess, 'logged'> & { readonly lines: () => readonly LogLine[] } => {
  const lines: LogLine[] = [];
  const waiting = new Set<(line: LogLine) => void>();
  const { stdout } = child.process;
  if (stdout === null) throw new Error('The process was started without a stdout.');
  createInterface({ input: stdout }).on('line', (line) => {
    // npm says on the same stream what it starts.
    if (!line.startsWith('{')) return;
    const parsed: unknown = JSON.parse(line);
    if (typeof parsed !== 'object' || parsed === null) return;
    const read: LogLine = { ...parsed };
    lines.push(read);
    for (const look of waiting) look(read);
  });
  const logged = (message: string): Promise<LogLine> => {
    const { promise, resolve } = Promise.withResolvers<LogLine>();
    // Not all lines each time: a service under load has written a hundred thousand.
    const look = (line: LogLine): void => {
      if (line['msg'] === message) resolve(line);
    };
    waiting.add(look);
    lines.forEach(look);
    const problem = (why: string): Error => new Error(`${why} without logging '${message}':\n${child.stderr.join('')}`);
    const ended = child.exited.then(({ code, signal }) => {
      throw problem(`The process ended (${code ?? signal})`);
    });
    return Promise.race([promise, ended, rejectAfter(START_TIMEOUT_MS, problem('Time passed').message)]).finally(() =>
      waiting.delete(look),
    );
  };
  return { lines: () => lines, logged };
};

// The shell that npm starts becomes the service by `exec`: that is what the script in package.json promises.
const onlyChildOf = (pid: number): number => {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
  if (children.length !== 1) throw new Error(`npm has the children ${children.join(', ')}, not one.`);
  return Number(children[0]);
};
