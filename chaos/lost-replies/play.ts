import { setTimeout as pause } from 'node:timers/promises';
import type { Replica } from '../replica.ts';
import { startBank } from './bank.ts';
import { type ClientKind, makePayment, readKept, type Told } from './client.ts';
import type { CutKind, Payment } from './cuts.ts';
import { type Judged, judge } from './judge.ts';
import { type Stack, startStack } from './stack.ts';

/** All payments of one client, judged. */
export type Played = { readonly client: ClientKind; readonly payments: readonly Judged[]; readonly kills: number };

type Say = (line: string) => void;

// Beside one lane for payments that kill a worker and one for those that kill a replica: what is killed is whole again before its next turn.
const LANES = 6;
const SETTLE_MS = 10_000;
const SAY_EVERY_MS = 10_000;

/** Plays all payments with one client against a bank and a stack of its own. */
export const play = async (client: ClientKind, payments: readonly Payment[], say: Say): Promise<Played> => {
  const killer = createKiller(payments);
  const bank = await startBank(payments, killer.kill);
  const stack = await startStack(bank.url, say);
  let logs: 'remove' | 'keep' = 'keep';
  try {
    killer.arm(stack);
    const told = await payAll(client, payments, { stack, killer, say });
    await pause(Math.max(0, killer.lastAt() + SETTLE_MS - performance.now()));
    const bookings = await bank.bookings();
    const judged = await Promise.all(told.map(async (each) => judge(each, await readNow(each, stack), bookings)));
    const isKept = judged.every(({ faults }) => faults.length === 0);
    if (isKept || client.name !== 'reconcile') logs = 'remove';
    return { client, payments: judged, kills: killer.kills() };
  } finally {
    await stack.close(logs);
    await bank.close();
    if (logs === 'keep') say(`The logs are kept in ${stack.directory}.`);
  }
};

const readNow = async ({ requestId }: Told, { replicas }: Stack) => {
  for (const replica of requestId === null ? [] : replicas) {
    const kept = await readKept(replica, requestId ?? '', 0);
    if (kept !== null) return kept;
  }
  return null;
};

/** Kills tool hosts, workers and replicas when the bank says so, and starts again what does not start by itself. */
const createKiller = (payments: readonly Payment[]) => {
  const cuts = new Map(payments.map(({ id, cut }) => [id, cut]));
  const asked = new Map<string, Replica>();
  const restarts = new Map<string, Promise<void>>();
  let [kills, lastAt]: [number, number] = [0, 0];
  let stack: Stack | null = null;
  const killProcess = async (payment: string): Promise<void> => {
    const victim = cuts.get(payment) === 'worker' ? stack?.worker : asked.get(payment);
    await victim?.kill();
    if (victim !== undefined) restarts.set(payment, victim.start());
  };
  return {
    arm: (armed: Stack): void => {
      stack = armed;
    },
    onAsk: (payment: string, replica: Replica): void => void asked.set(payment, replica),
    kill: async (payment: string, host: number): Promise<void> => {
      if (cuts.get(payment) === 'host') killHost(host);
      else await killProcess(payment);
      [kills, lastAt] = [kills + 1, performance.now()];
    },
    /** Resolves when what this payment has killed is whole again. */
    whenWhole: async (payment: string): Promise<void> => restarts.get(payment),
    kills: () => kills,
    lastAt: () => lastAt,
  };
};

const killHost = (host: number): void => {
  try {
    process.kill(host, 'SIGKILL');
  } catch (error) {
    // It has died of another call's cut.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
};

type Terms = { readonly stack: Stack; readonly killer: ReturnType<typeof createKiller>; readonly say: Say };

const payAll = async (
  client: ClientKind,
  payments: readonly Payment[],
  { stack, killer, say }: Terms,
): Promise<readonly Told[]> => {
  const told: Told[] = [];
  const payInTurn = async (queue: Payment[]): Promise<void> => {
    // Each replica is the first that is asked, and the one that is killed, in its turn.
    for (let first = 0; queue.length > 0; first += 1) {
      const next = queue.shift();
      if (next === undefined) return;
      told.push(await makePayment(client, next, { replicas: stack.replicas, first, onAsk: killer.onAsk }));
      await killer.whenWhole(next.id);
    }
  };
  const report = (): void =>
    say(`${client.name}: ${told.length} of ${payments.length} payments, ${killer.kills()} kills`);
  const timer = setInterval(report, SAY_EVERY_MS);
  const take = (...kinds: readonly CutKind[]) => payments.filter(({ cut }) => kinds.includes(cut));
  const others = payments.filter(({ cut }) => cut !== 'worker' && cut !== 'replica');
  const lanes = Array.from({ length: LANES }, () => payInTurn(others));
  try {
    await Promise.all([...lanes, payInTurn(take('worker')), payInTurn(take('replica'))]);
  } finally {
    clearInterval(timer);
  }
  report();
  return told;
};
