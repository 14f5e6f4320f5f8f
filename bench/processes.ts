import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { once } from 'node:events';

export type ProcessPlan = {
  readonly words: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Where its output goes: a file descriptor, or nowhere. */
  readonly output: number | 'ignore';
  /** Whether it talks with the bench by messages. */
  readonly channel: 'ipc' | 'ignore';
};

export type RunningProcess = {
  readonly pid: number;
  readonly child: ChildProcess;
  /** Rejects when it ends, with the last it said on stderr. */
  readonly failure: Promise<never>;
  readonly end: () => Promise<void>;
};

/** Starts processes and remembers them, so that all can be ended. */
export type Processes = {
  readonly start: (plan: ProcessPlan) => RunningProcess;
  readonly endAll: () => Promise<void>;
};

const END_TIMEOUT_MS = 5000;
const MAX_COMPLAINT = 2000;

export const createProcesses = (): Processes => {
  const running = new Set<RunningProcess>();
  return {
    start: (plan) => {
      const started = startProcess(plan);
      running.add(started);
      started.child.once('exit', () => running.delete(started));
      return started;
    },
    endAll: async () => {
      await Promise.all([...running].map((started) => started.end()));
    },
  };
};

const startProcess = ({ words, environment, output, channel }: ProcessPlan): RunningProcess => {
  const [command = '', ...rest] = words;
  const stdio: StdioOptions = ['ignore', output, 'pipe', channel];
  const child = spawn(command, rest, { stdio, env: { ...environment } });
  const complaint = { text: '' };
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaint.text = `${complaint.text}${text}`.slice(-MAX_COMPLAINT);
  });
  const failure = once(child, 'close').then(([code, signal]): never => {
    throw new Error(`'${words.join(' ')}' ended (${code ?? signal}). ${complaint.text}`);
  });
  // Nobody may be waiting for it when it ends as it should.
  failure.catch(() => undefined);
  if (child.pid === undefined) throw new Error(`${command} cannot be started.`);
  return { pid: child.pid, child, failure, end: () => endProcess(child) };
};

const endProcess = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), END_TIMEOUT_MS);
  await ended;
  clearTimeout(timer);
};
