import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { FROM_SOURCES } from '@recourse/test-support/node-flags.ts';

const ROOT = join(import.meta.dirname, '..');

export type ReplicaPlan = {
  readonly name: string;
  readonly port: number;
  readonly environment: Readonly<Record<string, string>>;
  /** Its stdout, over all its lives. */
  readonly logFile: string;
  /** Words of a command that runs another; left out: it runs as it is. */
  readonly wrap?: (command: readonly string[]) => readonly [string, ...string[]];
};

/** How a life ended: as it was told to, or not. */
export type Ending = { readonly told: boolean; readonly code: number | null; readonly signal: string | null };

/** A service process on a port of its own, started again and again. */
export type Replica = {
  readonly name: string;
  readonly url: string;
  readonly logFile: string;
  /** Of the present life; null between two. */
  readonly pid: () => number | null;
  /** Resolves when it is ready to take calls. */
  readonly start: () => Promise<void>;
  /** SIGTERM to the process or to its group; resolves with how and how fast it ended. Killed if it does not. */
  readonly stop: (target: 'process' | 'group') => Promise<Ending & { readonly tookMs: number }>;
  /** SIGKILL to the process alone; what it had accepted is lost. */
  readonly kill: () => Promise<void>;
  /** Whether it was killed at or after a time of `performance.now()`. */
  readonly wasKilledSince: (time: number) => boolean;
};

export const SHUTDOWN_GRACE_MS = 5000;
// The grace, and what closing may take on top of it; a busy machine needs longer.
const STOP_TIMEOUT_MS = SHUTDOWN_GRACE_MS + 15_000;
const START_TIMEOUT_MS = 60_000;
const POLL_MS = 20;

type Life = { readonly child: ChildProcess; readonly pid: number; told: boolean; readonly ended: Promise<Ending> };

/** `onEnd` hears of every life that ends. */
export const createReplica = (plan: ReplicaPlan, onEnd: (ending: Ending) => void): Replica => {
  const url = `http://127.0.0.1:${plan.port}`;
  let life: Life | null = null;
  let killedAt = Number.NEGATIVE_INFINITY;
  const begin = (): Life => {
    const child = launch(plan);
    const { pid } = child;
    if (pid === undefined) throw new Error('node cannot be started.');
    const ended = once(child, 'exit').then(([code, signal]): Ending => {
      const ending = { told: begun.told, code, signal };
      life = null;
      onEnd(ending);
      return ending;
    });
    const begun: Life = { child, pid, told: false, ended };
    return begun;
  };
  return {
    name: plan.name,
    url,
    logFile: plan.logFile,
    pid: () => life?.pid ?? null,
    start: async () => {
      life = begin();
      const died = life.ended.then((): never => {
        throw new Error(`${plan.name} ended while it was starting; its words are in ${plan.logFile}.stderr.`);
      });
      await Promise.race([waitUntilReady(url), died]);
      // It is going to end one day, when nobody waits for it here.
      died.catch(() => undefined);
    },
    stop: async (target) => {
      const startedAt = performance.now();
      if (life === null) return { told: true, code: 0, signal: null, tookMs: 0 };
      const { child, pid, ended } = life;
      life.told = true;
      process.kill(target === 'group' ? -pid : pid, 'SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
      const ending = await ended;
      clearTimeout(timer);
      return { ...ending, tookMs: performance.now() - startedAt };
    },
    kill: async () => {
      if (life === null) return;
      life.told = true;
      killedAt = performance.now();
      life.child.kill('SIGKILL');
      await life.ended;
    },
    wasKilledSince: (time) => killedAt >= time,
  };
};

const launch = ({ environment, port, logFile, wrap }: ReplicaPlan): ChildProcess => {
  const [log, complaints] = [openSync(logFile, 'a'), openSync(`${logFile}.stderr`, 'a')];
  const service = [process.execPath, ...FROM_SOURCES, 'src/main.ts'] as const;
  const [command, ...words] = wrap?.(service) ?? service;
  const child = spawn(command, words, {
    cwd: ROOT,
    env: { ...environment, PORT: String(port) },
    stdio: ['ignore', log, complaints],
    // It leads a process group, as it would under an init system.
    detached: true,
  });
  closeSync(log);
  closeSync(complaints);
  watchOver(child);
  return child;
};

/** Ends the service once our end of the pipe closes: the system does that even if this process is killed itself. */
const watchOver = (child: ChildProcess): void => {
  if (child.pid === undefined) return;
  const script = 'while read -r _; do :; done; kill -TERM "$1"';
  const watchdog = spawn('sh', ['-c', script, 'watchdog', String(child.pid)], { stdio: ['pipe', 'ignore', 'ignore'] });
  child.once('exit', () => watchdog.kill('SIGKILL'));
  watchdog.unref();
};

const waitUntilReady = async (url: string): Promise<void> => {
  const deadline = performance.now() + START_TIMEOUT_MS;
  while (performance.now() < deadline) {
    if (await isReady(url)) return;
    await pause(POLL_MS);
  }
  throw new Error(`${url} was not ready within ${START_TIMEOUT_MS} ms.`);
};

/** Whether GET /ready answers 200, degraded or not. */
const isReady = async (url: string): Promise<boolean> => (await readText(`${url}/ready`)) !== null;

/** The body of a 200 to a GET, or to a POST of `json`; null where there is none. */
export const readText = async (url: string, json: string | null = null): Promise<string | null> => {
  const post = { method: 'POST', headers: { 'content-type': 'application/json' }, body: json };
  try {
    const answer = await fetch(url, { ...(json === null ? {} : post), signal: AbortSignal.timeout(5000) });
    const text = await answer.text();
    return answer.status === 200 ? text : null;
  } catch (error) {
    // Nothing listens there, or it is too busy: both pass.
    if (error instanceof TypeError || error instanceof DOMException) return null;
    throw error;
  }
};
