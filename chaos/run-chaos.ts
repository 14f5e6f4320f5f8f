import { setTimeout as pause } from 'node:timers/promises';
import * as z from 'zod';
import type { Accounts } from './accounts.ts';
import { judgeBudgets, playBudgetSessions } from './budget-sessions.ts';
import type { Run, SentLoad } from './chaos-run.ts';
import { createClient } from './exchange.ts';
import { injectFaults, stopReplica } from './faults.ts';
import { judgeKeyed } from './judge-keyed.ts';
import type { KeyRecord } from './keyed-attempt.ts';
import { NAMELESS_MARK } from './killer-kinds.ts';
import { createLedger, type Ledger } from './ledger.ts';
import { lookAfterLoad } from './look-after-load.ts';
import { countDescriptors, describeDescriptors, findProcesses } from './look-at-processes.ts';
import { createBatchPlans } from './plan-batch.ts';
import { createRandom } from './random.ts';
import { countReady } from './readiness.ts';
import { type Replica, readText } from './replica.ts';
import { startSampling } from './sampling.ts';
import { sendKeyed } from './send-keyed.ts';
import { type Doubts, sendLoad } from './send-load.ts';
import { createSender } from './sender.ts';
import { checkLog, checkStderr } from './service-records.ts';
import type { Surroundings } from './surroundings.ts';
import { DESCRIPTORS_SLACK, type Findings } from './to-rows.ts';
import { toToolNames } from './tool-files.ts';

// Each costs a process its life and the machine a start: more of them would only measure how fast Node starts.
const KILLERS_PER_SECOND = 2;
// Idle hosts end after 30 s.
const SETTLE_MS = 45_000;
const LEFT_MS = 3000;
const PROGRESS_MS = 5000;

/** The whole run: start, load and faults, rest, end, and what is found afterwards. */
export const runChaos = async (run: Run): Promise<Findings> => {
  const { surroundings, accounts, say } = run;
  const { replicas } = surroundings;
  await Promise.all(replicas.map((replica) => replica.start()));
  const tools = await listTools(replicas);
  const missingTools = toToolNames(surroundings.toolFiles.directory).filter((name) => !tools.has(name));
  say(`both replicas serve ${tools.size} tools; missing of ours: ${missingTools.join(', ') || 'none'}`);
  const descriptorsBefore = Math.max(...replicas.map(countOpen));
  const ledger = createLedger(surroundings.ledgerFile);
  const doubts: Doubts = { unavailable: new Set(), broken: new Map() };
  const sampling = startSampling(replicas);
  const progress = setInterval(() => say(describeProgress(accounts)), PROGRESS_MS);
  const sent = await sendLoadAndFaults(run, { tools, missingTools, ledger, doubts });
  clearInterval(progress);
  sampling.stop();
  say('the load has ended; waiting until the replicas are at rest');
  const readyAtEnd = await countReady(replicas);
  await lookAfterLoad(run, sent);
  const descriptorsAfter = await settleDescriptors(replicas, descriptorsBefore, say);
  for (const replica of replicas) await stopReplica(replica, 'process', accounts);
  await findLeftProcesses(surroundings, accounts);
  ledger.settle(accounts);
  judgeKeyed(sent.records, ledger.read(), accounts);
  judgeBudgets(sent.budgets, ledger.read(), accounts);
  for (const replica of replicas) {
    await checkLog(replica, doubts, accounts);
    checkStderr(replica, accounts);
  }
  return {
    ...{ accounts, missingTools, readyAtEnd, descriptorsBefore, descriptorsAfter },
    mostDescriptors: sampling.mostDescriptors(),
    memory: sampling.memory(),
    replicas: replicas.length,
  };
};

type Known = {
  readonly tools: ReadonlySet<string>;
  readonly missingTools: readonly string[];
  readonly ledger: Ledger;
  readonly doubts: Doubts;
};

const sendLoadAndFaults = async (
  { options: { seconds, rate, seed }, surroundings, accounts, say }: Run,
  { tools, missingTools, ledger, doubts }: Known,
): Promise<SentLoad> => {
  const { replicas, store, toolFiles, sleepSeconds } = surroundings;
  const [random, faultsRandom] = [createRandom(seed), createRandom(seed + 1)];
  const killerShare = Math.min(1, KILLERS_PER_SECOND / rate);
  const plans = createBatchPlans({ random, tools, sleepSeconds, killerShare, mark: surroundings.mark });
  const records: KeyRecord[] = [];
  const client = createClient();
  const signal = AbortSignal.timeout(seconds * 1000);
  const toolsOffered = missingTools.length === 0;
  const sender = createSender({ replicas, client, random, accounts });
  const again = { sender, random: createRandom(seed + 2), accounts, records, signal };
  const [, budgets] = await Promise.all([
    sendLoad({
      ...{ sender, plans, random, rate, accounts, ledger, doubts, signal },
      sendKeyed: (batch) => sendKeyed(batch, again),
    }),
    playBudgetSessions({ sender, replicas, random: createRandom(seed + 3), accounts, signal }),
    injectFaults({
      ...{ store, replicas, toolFiles, toolsOffered, accounts, say, seconds, signal },
      random: faultsRandom,
    }),
  ]);
  client.close();
  const sessionIds = records.flatMap(({ batch }) => batch.sessionId ?? []);
  return { records, budgets, sessionIds: [...new Set(sessionIds)] };
};

const Catalogue = z.object({ tools: z.array(z.object({ name: z.string(), available: z.boolean() })) });

/** Tools that every replica offers. */
const listTools = async (replicas: readonly Replica[]): Promise<ReadonlySet<string>> => {
  const lists = await Promise.all(
    replicas.map(async ({ url }) => {
      const { tools } = Catalogue.parse(JSON.parse((await readText(`${url}/tools`)) ?? ''));
      return new Set(tools.filter(({ available }) => available).map(({ name }) => name));
    }),
  );
  return lists.reduce((shared, names) => shared.intersection(names));
};

const describeProgress = (accounts: Accounts): string => {
  const counts = ['requests', 'batches accepted', 'results', 'good calls that succeeded', 'killer calls']
    .map((what) => `${what} ${accounts.countOf(what)}`)
    .join(', ');
  const offences = accounts.allOffences();
  return offences === 0 ? counts : `${counts}; OFFENCES ${offences}`;
};

const countOpen = (replica: Replica): number => {
  const pid = replica.pid();
  return pid === null ? 0 : (countDescriptors(pid) ?? 0);
};

/** Waits until no replica holds noticeably more than before the load; gives what the worst one holds then. */
const settleDescriptors = async (
  replicas: readonly Replica[],
  before: number,
  say: (line: string) => void,
): Promise<number> => {
  const deadline = performance.now() + SETTLE_MS;
  const worst = (): number => Math.max(...replicas.map(countOpen));
  while (worst() > before + DESCRIPTORS_SLACK && performance.now() < deadline) await pause(500);
  for (const replica of replicas) say(`${replica.name} at rest holds ${describeDescriptors(replica.pid() ?? 0)}`);
  return worst();
};

/** What is being killed may take a moment; what is there after that stays. */
const findLeftProcesses = async (
  { marks, sleepSeconds, replicas }: Surroundings,
  accounts: Accounts,
): Promise<void> => {
  const deadline = performance.now() + LEFT_MS;
  while (findProcesses(marks).length > 0 && performance.now() < deadline) await pause(50);
  const wasKilled = replicas.some((replica) => replica.wasKilledSince(0));
  for (const { pid, command } of findProcesses(marks)) {
    // Known by its parent alone, which was killed together with whoever knew that.
    const isNameless = command.startsWith(`sleep ${sleepSeconds}${NAMELESS_MARK}`);
    if (wasKilled && isNameless) accounts.add('nameless processes that outlived a killed replica');
    else accounts.offend('process_left', `${pid} ${command}`);
  }
};
