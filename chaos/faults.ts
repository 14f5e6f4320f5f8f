import { setTimeout as sleep } from 'node:timers/promises';
import type { Accounts } from './accounts.ts';
import type { Random } from './random.ts';
import { type Replica, readText, SHUTDOWN_GRACE_MS } from './replica.ts';
import { checkMetrics } from './service-records.ts';
import type { Store } from './store.ts';
import type { ToolFiles } from './tool-files.ts';

export type FaultTerms = {
  readonly store: Store;
  readonly replicas: readonly Replica[];
  readonly toolFiles: ToolFiles;
  /** Whether both replicas offer the tools of `toolFiles`. */
  readonly toolsOffered: boolean;
  readonly random: Random;
  readonly accounts: Accounts;
  readonly say: (line: string) => void;
  /** Length of the load. Restarts keep to its first part, so that memory is watched over a long last life. */
  readonly seconds: number;
  /** No further fault begins; one that has begun is undone. */
  readonly signal: AbortSignal;
};

const RESTARTS_END = 0.45;
// Redis is whole again, and has been found again, before the load ends.
const QUIET_END_MS = 8000;
// Longer than the lease of a keyed batch: whoever held its record has lost it.
const LONG_SHARE = 0.2;
const LONG_MS = [5500, 7000] as const;
const EXTRA_MS = 5000;
const TAKEN_OVER_MS = 10_000;

/** Injects faults on three tracks at once until told to stop; resolves when all is whole again. */
export const injectFaults = async (terms: FaultTerms): Promise<void> => {
  const startedAt = performance.now();
  const until = (share: number, endMs = 0): boolean =>
    !terms.signal.aborted && performance.now() - startedAt < terms.seconds * 1000 * share - endMs;
  const takeTurn = createTurns();
  await Promise.all([
    breakRedis(terms, () => until(1, QUIET_END_MS)),
    restartReplicas(terms, takeTurn, () => until(RESTARTS_END)),
    changeToolFiles(terms, takeTurn, () => until(1, QUIET_END_MS)),
  ]);
};

type TakeTurn = (work: () => Promise<void>) => Promise<void>;

/** One at a time: a replica that starts while a tool file is broken has no older version to serve. */
const createTurns = (): TakeTurn => {
  let last: Promise<void> = Promise.resolve();
  return (work) => {
    last = last.then(work);
    return last;
  };
};

const pause = async (ms: number, signal: AbortSignal): Promise<void> => {
  // Cut short, not failed, by the end of the run.
  await sleep(ms, undefined, { signal }).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
};

const breakRedis = async (terms: FaultTerms, goesOn: () => boolean): Promise<void> => {
  const { store, random, signal } = terms;
  const faults = [
    ['Redis killed, restarted with its data', 'kill', 'restart'],
    ['Redis stopped, continued', 'pause', 'resume'],
    ['Redis connections reset', 'cut', null],
    ['Redis behind a black hole', 'freeze', 'thaw'],
    ['Redis refuses connections', 'refuse', 'accept'],
  ] as const;
  for (let round = 0; ; round += 1) {
    await pause(random.whole(3000, 6000), signal);
    const fault = faults[round % faults.length];
    if (fault === undefined || !goesOn()) return;
    const [name, begin, end] = fault;
    announce(terms, name);
    await store.act(begin);
    await pause(random.chance(LONG_SHARE) ? random.whole(...LONG_MS) : random.whole(500, 3500), signal);
    if (end !== null) await store.act(end);
  }
};

// Each replica meets each of them in turn.
const WAYS_TO_END = [
  'kill',
  'process',
  'kill',
  'kill',
  'process',
  'kill',
  'kill',
  'group',
  'kill',
  'kill',
  'group',
  'kill',
] as const;

const restartReplicas = async (terms: FaultTerms, takeTurn: TakeTurn, goesOn: () => boolean): Promise<void> => {
  const { replicas, random, seconds, signal } = terms;
  for (let round = 0; ; round += 1) {
    await pause(Math.max(3000, (seconds * 1000) / 25) + random.whole(0, 1000), signal);
    const replica = replicas[round % replicas.length];
    if (replica === undefined || !goesOn()) return;
    const way = WAYS_TO_END[round % WAYS_TO_END.length] ?? 'kill';
    await takeTurn(() => (way === 'kill' ? killReplica(replica, terms) : restart(replica, way, terms)));
  }
};

const restart = async (replica: Replica, target: 'process' | 'group', terms: FaultTerms): Promise<void> => {
  announce(terms, `SIGTERM to a replica's ${target}, restart`);
  await stopReplica(replica, target, terms.accounts);
  await replica.start();
};

const killReplica = async (replica: Replica, terms: FaultTerms): Promise<void> => {
  announce(terms, 'SIGKILL to a replica, restart');
  await checkMetrics(replica, terms.accounts);
  await replica.kill();
  // Its port is silent for a moment, as where something has to notice first.
  await pause(terms.random.whole(0, 1500), terms.signal);
  await replica.start();
};

/** Ends a replica in good order, and notes where it did not end so. */
export const stopReplica = async (replica: Replica, target: 'process' | 'group', accounts: Accounts): Promise<void> => {
  // Its counts end with it.
  await checkMetrics(replica, accounts);
  const { tookMs, code, signal } = await replica.stop(target);
  if (code !== 0) accounts.offend('bad_exit', `${replica.name}: SIGTERM ended it with ${code ?? signal}`);
  if (tookMs > SHUTDOWN_GRACE_MS + EXTRA_MS)
    accounts.offend('bad_exit', `${replica.name}: SIGTERM took ${tookMs.toFixed(0)} ms`);
};

const changeToolFiles = async (terms: FaultTerms, takeTurn: TakeTurn, goesOn: () => boolean): Promise<void> => {
  const { random, signal, toolsOffered } = terms;
  if (!toolsOffered) return;
  for (let round = 0; ; round += 1) {
    await pause(random.whole(4000, 8000), signal);
    if (!goesOn()) return;
    await takeTurn(() => (round % 2 === 0 ? breakToolFile(terms) : changeToolFile(terms)));
  }
};

const breakToolFile = async (terms: FaultTerms): Promise<void> => {
  announce(terms, 'a tool file broken, and back');
  terms.toolFiles.break();
  await pause(3000, terms.signal);
  terms.toolFiles.restore();
  // Whoever starts next must find it whole: nothing is cut short by its being read just now.
  await sleep(500);
};

const changeToolFile = async (terms: FaultTerms): Promise<void> => {
  announce(terms, 'a tool file changed');
  const version = terms.toolFiles.change();
  const deadline = performance.now() + TAKEN_OVER_MS;
  const waiting = terms.replicas.map(async (replica) => {
    while (performance.now() < deadline) {
      if ((await askVersion(replica)) === version) return;
      await sleep(200);
    }
    terms.accounts.offend(
      'change_ignored',
      `${replica.name} does not serve version ${version} after ${TAKEN_OVER_MS} ms`,
    );
  });
  await Promise.all(waiting);
};

const VERSION_CALL = JSON.stringify({ calls: [{ name: 'sum', arguments: { a: 1, b: 1 } }] });

const askVersion = async ({ url }: Replica): Promise<number | null> => {
  const text = await readText(`${url}/tool-calls`, VERSION_CALL);
  const version = /"version":(\d+)/.exec(text ?? '')?.[1];
  return version === undefined ? null : Number(version);
};

const announce = ({ accounts, say }: FaultTerms, name: string): void => {
  accounts.add(`fault ${name}`);
  say(`fault: ${name}`);
};
