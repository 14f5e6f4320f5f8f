import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { onTestFinished } from 'vitest';

/** The processes of one test: tool hosts, and whatever their tools started, wherever it went. */
export type HostProcesses = {
  /** To be given to the service, or the isolation, so that its hosts are known by it. */
  readonly environment: Readonly<Record<string, string>>;
  /** Every living process that carries the mark of a tool host of this test. */
  readonly pids: () => readonly number[];
  /** Those of them that are tool hosts themselves. */
  readonly hosts: () => readonly number[];
};

const TAG = 'RECOURSE_TEST_RUN';
const HOST_ENTRY = /inside\/host-main\.m?[jt]s$/;

/** Tells the processes of this test from those of all others. What is left of them at its end is killed. */
export const watchHostProcesses = (): HostProcesses => {
  const run = randomUUID();
  const pids = (): readonly number[] => readPids().filter((pid) => isMarked(readWords(pid, 'environ'), run));
  onTestFinished(() => {
    for (const pid of pids()) endIfThere(pid);
  });
  return {
    environment: { [TAG]: run, TOOLS_ENV: TAG },
    pids,
    hosts: () => pids().filter((pid) => readWords(pid, 'cmdline').some((word) => HOST_ENTRY.test(word))),
  };
};

const readPids = (): readonly number[] => readdirSync('/proc').map(Number).filter(Number.isInteger);

const isMarked = (environment: readonly string[], run: string): boolean =>
  environment.includes(`${TAG}=${run}`) && environment.some((line) => line.startsWith('RECOURSE_TOOL_HOST='));

// What has ended, a zombie too, has neither words nor an environment.
const readWords = (pid: number, file: 'environ' | 'cmdline'): readonly string[] => {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1').split('\0').slice(0, -1);
  } catch (_gone) {
    return [];
  }
};

const endIfThere = (pid: number): void => {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (_gone) {
    // It has ended since it was seen.
  }
};
