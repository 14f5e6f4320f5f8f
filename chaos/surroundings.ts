import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { findFreePort } from '@recourse/test-support/redis-server.ts';
import type { Accounts } from './accounts.ts';
import { findProcesses } from './look-at-processes.ts';
import { createReplica, type Replica, SHUTDOWN_GRACE_MS } from './replica.ts';
import type { Store } from './store.ts';
import { copyToolFiles, type ToolFiles } from './tool-files.ts';

/** Everything a run opened. */
export type Surroundings = {
  /** For logs, the ledger, the workspace and the tools. */
  readonly directory: string;
  readonly ledgerFile: string;
  readonly store: Store;
  readonly replicas: readonly Replica[];
  readonly toolFiles: ToolFiles;
  /** In environments or command lines of all that the replicas start. */
  readonly marks: readonly string[];
  /** Differs with every run. */
  readonly mark: string;
  /** Argument of `sleep` that only processes of this run have. */
  readonly sleepSeconds: string;
  /** Ends everything and removes the directory, unless its logs are to be read. */
  readonly close: (directory: 'remove' | 'keep') => Promise<void>;
};

const ROOT = join(import.meta.dirname, '..');
const REPLICAS = ['replica 1', 'replica 2'];
// A host that hogs memory is stopped early, and takes little from the rest of the machine.
const TOOL_HOST_MEMORY_MB = 160;

// What a replica remembers of Redis is full within a minute: by default it would grow for hours, and its memory with it, as a leak does.
const STORE_MEMORY_MB = 24;
// On a large machine V8 first collects its old generation at 286 MB, later than most lives of a replica: memory would only rise.
const HEAP_MB = 256;

// By default ten faults in a row open a circuit for ten seconds. A killer tool meets one in ten seconds and replica: in a
// minute no circuit would open, in five minutes most killers would rest. Four and two: each tool's opens within a minute
// of its replica, and then refuses about one call in five.
const CIRCUIT = { CIRCUIT_FAILURES: '4', CIRCUIT_OPEN_MS: '2000' } as const;

/** Replicas are made, and not started yet. */
export const prepareSurroundings = async (accounts: Accounts, store: Store): Promise<Surroundings> => {
  const directory = mkdtempSync(join(tmpdir(), 'recourse-chaos-'));
  const ledgerFile = join(directory, 'ledger.txt');
  writeFileSync(ledgerFile, '');
  mkdirSync(join(directory, 'workspace'));
  writeFileSync(join(directory, 'workspace', 'notes.md'), '# Notes\n\nWhat a read finds.\n');
  const toolFiles = copyToolFiles(join(directory, 'tools'));
  const mark = `chaos-run-${process.pid}-${Date.now()}`;
  const sleepSeconds = `1000.${process.pid}${Date.now() % 100_000}`;
  const environment = {
    PATH: [join(ROOT, 'node_modules/.bin'), process.env['PATH'] ?? ''].join(delimiter),
    REDIS_URL: `redis://127.0.0.1:${store.port}`,
    WORKSPACE_DIR: join(directory, 'workspace'),
    TOOLS_DIR: toolFiles.directory,
    TOOLS_ENV: 'CHAOS_LEDGER,CHAOS_MARK',
    CHAOS_LEDGER: ledgerFile,
    CHAOS_MARK: mark,
    TOOL_HOST_MEMORY_MB: String(TOOL_HOST_MEMORY_MB),
    STORE_MEMORY_MB: String(STORE_MEMORY_MB),
    SHUTDOWN_GRACE_MS: String(SHUTDOWN_GRACE_MS),
    NODE_COMPILE_CACHE: join(directory, 'compiled'),
    NODE_OPTIONS: `--max-old-space-size=${HEAP_MB}`,
    ...CIRCUIT,
  };
  const ports = await Promise.all(REPLICAS.map(findFreePort));
  const replicas = REPLICAS.map((name, place) =>
    createReplica(
      { name, port: ports[place] ?? 0, environment, logFile: join(directory, `${name.replace(' ', '-')}.log`) },
      ({ told, code, signal }) => {
        if (!told) accounts.offend('bad_exit', `${name} ended by itself with ${code ?? signal}`);
      },
    ),
  );
  const marks = [mark, sleepSeconds];
  const close = async (fate: 'remove' | 'keep'): Promise<void> => {
    await Promise.all(replicas.map((replica) => replica.stop('process')));
    endProcesses(marks);
    await store.close();
    if (fate === 'remove') rmSync(directory, { recursive: true, force: true });
  };
  return { directory, ledgerFile, store, replicas, toolFiles, mark, marks, sleepSeconds, close };
};

/** What the service left behind is ours all the same. */
const endProcesses = (marks: readonly string[]): void => {
  for (const { pid } of findProcesses(marks)) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
    }
  }
};
