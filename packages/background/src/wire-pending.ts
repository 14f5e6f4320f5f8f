import { setTimeout } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { ApiKeys } from 'recourse-server/auth/api-keys';
import type { Config } from 'recourse-server/config/settings/config';
import { createLaneLookup, DEFAULT_LANE, type Lane, toServedLanes } from 'recourse-server/config/settings/lanes';
import type { ExecuteBatch } from 'recourse-server/executor/batch-request';
import type { IdempotencyStore } from 'recourse-server/executor/idempotency-store';
import type { CallSpec } from 'recourse-server/executor/pending-calls';
import type { SessionStore } from 'recourse-server/executor/session-store';
import type { ByteBudget } from 'recourse-server/memory/byte-budget';
import type { AddedRoutes } from 'recourse-server/routes/route-host';
import { describeCauses } from 'recourse-server/telemetry/describe-error';
import type { Metrics } from 'recourse-server/telemetry/metrics';
import { createQuietLine } from 'recourse-server/telemetry/repeated-lines';
import { createAnsweredCalls } from './answered-calls.ts';
import { KEY_HOLDER, toCallKey } from './calls/call-kind.ts';
import type { CallRecords } from './calls/call-records.ts';
import type { Job, JobEnd, JobQueue, Taking } from './jobs/job-queue.ts';
import { createMemoryJobQueue } from './jobs/memory-job-queue.ts';
import { observeRuns, sampleLanes } from './jobs/observe-job-queue.ts';
import { createNotifications } from './pending-notifications.ts';
import { addPendingCallsRoutes } from './pending-routes.ts';
import { PendingService } from './pending-service.ts';
import { createPendingTasks } from './pending-tasks.ts';
import type { Webhooks } from './webhooks/webhooks.ts';
import { createWorker } from './worker.ts';

export type PendingParts = {
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly budget: ByteBudget;
  readonly sessions: SessionStore;
  readonly keys: Pick<IdempotencyStore, 'find'>;
  readonly webhooks: Pick<Webhooks, 'emit'>;
  /** Of the configuration file; left out: the default alone. */
  readonly lanes?: readonly Lane[] | undefined;
  readonly records: CallRecords;
  readonly now: () => number;
  /** The store's time, in Unix milliseconds. */
  readonly time: () => number;
  /** The keys by which calls of keys may start; null: no setting names any. */
  readonly apiKeys: ApiKeys | null;
  /** Whether a tool of this name serves here now. */
  readonly hasTool: (name: string) => boolean;
};

const SWEEP_EVERY_MS = 1000;
// What closing the queue may take of the second that all parts of a service have for it.
const LAST_WORDS_MS = 500;

/** Calls that outlive their requests: their records, their queue, and the worker of this process. */
export const wirePending = async (config: Config, parts: PendingParts) => {
  const { log, metrics, records, time, lanes = [DEFAULT_LANE] } = parts;
  const onFailed = (error: unknown): void => {
    metrics.pendingErrors.count += 1;
    log.warn({ causes: describeCauses(error) }, 'pending call step failed');
  };
  if (config.ROLE === 'worker' && parts.apiKeys === null) await refuseCallsOfKeys(records, onFailed);
  const notifications = createNotifications({ ...parts, isEnded: isEndedBy(records), onFailed });
  const queue = await createQueue(config, lanes, onFailed);
  let worker: ReturnType<typeof createWorker> | null = null;
  // Of this process: without Redis no other process knows of them.
  let open = 0;
  const onAccepted = (spec: CallSpec): void => {
    open += 1;
    notifications.accepted(spec);
  };
  const onEnded = (spec: CallSpec, result: string): void => {
    open -= 1;
    notifications.ended(spec, result);
  };
  const run = async (job: Job): Promise<JobEnd> => worker?.run(job) ?? NOT_YET;
  const laneOf = createLaneLookup(lanes);
  const service = new PendingService({ records, queue, run, laneOf, onFailed, time, onAccepted });
  const closing = new AbortController();
  const stops: (() => void)[] = [service.close, () => closing.abort(), sampleLanes(queue, metrics.jobs)];
  let taking: Taking | null = null;
  return {
    service,
    added: {
      addRoutes: (app) => {
        const end = service.end.bind(service);
        addPendingCallsRoutes(app, { records, laneOf, onFailed, end, closed: closing.signal });
      },
    } satisfies AddedRoutes,
    tasks: createPendingTasks(service, time),
    answered: createAnsweredCalls({ service, time }),
    /** Runs pending calls by this executor from now on, where the role of this process says so. */
    start: (executeBatch: ExecuteBatch): void => {
      worker = createWorker({
        ...{ ...parts, executeBatch, onFailed, onEnded },
        mayStart: createMayStart(parts),
        count: (end) => {
          metrics.workerCalls[end].count += 1;
        },
        onTakenOver: () => {
          metrics.leasesTakenOver.count += 1;
        },
      });
      const sweep = (): void => void service.sweep();
      // At once, too: a process that is stopped before its first sweep could not tell that it was.
      sweep();
      stops.push(repeat(SWEEP_EVERY_MS, sweep));
      records.onReturn(sweep);
      if (config.ROLE === 'api') return;
      const served = toServedLanes(config, lanes);
      for (const { lane } of served) metrics.jobs.laneServed(lane);
      taking = queue.take(served, observeRuns(worker.run, metrics.jobs));
      if (config.ROLE === 'worker') stops.push(watchTaking(taking, queue, served, log));
    },
    /** Takes no more jobs, and gives back those that may run again elsewhere; other calls go on. */
    drain: (): void => {
      taking?.stop();
      // In memory no other process would run them.
      if (records.durability !== 'process') worker?.giveBack();
    },
    close: async (): Promise<void> => {
      for (const stop of stops) stop();
      taking?.stop();
      if (records.durability === 'process' && open > 0)
        log.warn({ calls: open }, 'pending calls lost: they were kept only in this process');
      // A handler that does not end must not keep other parts from closing.
      await Promise.race([queue.close(), setTimeout(LAST_WORDS_MS, null, { ref: false })]);
    },
  };
};

const isEndedBy =
  (records: CallRecords) =>
  async (tenant: string, handle: string): Promise<boolean> => {
    const record = await records.find(toCallKey(tenant, handle));
    return record === null || record.state === 'ended';
  };

const NOT_YET: JobEnd = { kind: 'later', afterMs: 1000 };

const repeat = (everyMs: number, act: () => void): (() => void) => {
  const timer = setInterval(act, everyMs).unref();
  return () => clearInterval(timer);
};

const NO_KEYS =
  'pending calls came with API keys, and this process knows none, so it cannot tell whether they may still run: set API_KEYS_FILE or API_KEYS as for the services';

/** Whether calls may start: those of API keys as long as their key is one, and may. */
const createMayStart = ({ apiKeys, log, now, time }: Pick<PendingParts, 'apiKeys' | 'log' | 'now' | 'time'>) => {
  const tellUnknown = createQuietLine<{ readonly tenant: string; readonly tool: string; readonly key: string | null }>({
    write: (fields) => log.error(fields, `calls given back: ${NO_KEYS}`),
    now,
  });
  return ({ keyHash, tenant, tool, key, acceptedAt }: CallSpec): 'yes' | 'no' | 'unknown' => {
    if (keyHash === undefined) return 'yes';
    if (apiKeys !== null) return apiKeys.mayCall({ keyHash, tenant, tool, agoMs: time() - acceptedAt });
    tellUnknown(() => ({ tenant, tool, key }));
    return 'unknown';
  };
};

/** Rejects where a call that has not ended names an API key. Where the store cannot be asked, each call is given back later. */
const refuseCallsOfKeys = async (records: CallRecords, onFailed: (error: unknown) => void): Promise<void> => {
  const namesKey = async (): Promise<boolean> => {
    for await (const calls of records.live.list())
      if (calls.some(({ holder }) => holder.startsWith(KEY_HOLDER))) return true;
    return false;
  };
  if ((await namesKey().catch(onFailed)) === true) throw new Error(`ROLE=worker: ${NO_KEYS}.`);
};

// Only where there is Redis is what talks to it loaded.
const createQueue = async (
  { REDIS_URL, REDIS_SENTINEL_PASSWORD }: Config,
  lanes: readonly Lane[],
  onError: (error: unknown) => void,
): Promise<JobQueue> => {
  if (REDIS_URL === undefined) return createMemoryJobQueue(lanes.map(({ lane }) => lane));
  const { createBullmqJobQueue } = await import('./jobs/bullmq-job-queue.ts');
  const url = { url: REDIS_URL, sentinelPassword: REDIS_SENTINEL_PASSWORD };
  return createBullmqJobQueue({ url, lanes, onError });
};

const LOOK_EVERY_MS = 10_000;
const STUCK_AFTER_MS = 60_000;

/** Ends a worker that takes nothing while jobs wait: its supervisor starts another. */
const watchTaking = (
  taking: Taking,
  queue: JobQueue,
  served: readonly { readonly lane: string }[],
  log: Logger,
): (() => void) => {
  const names = new Set(served.map(({ lane }) => lane));
  const look = async (): Promise<void> => {
    if (performance.now() - taking.lastFetchAt() < STUCK_AFTER_MS) return;
    const waiting = (await queue.lanes()).filter(({ lane, waiting: jobs }) => names.has(lane) && jobs > 0);
    if (waiting.length === 0) return;
    log.fatal({ lanes: waiting }, 'worker takes no jobs although jobs wait: exiting');
    log.flush(() => process.exit(1));
    await setTimeout(1000);
    process.exit(1);
  };
  // Where the queue cannot be asked, nothing says that a job waits.
  return repeat(LOOK_EVERY_MS, () => void look().catch(() => undefined));
};
