import { isRecord, memberOf } from 'recourse-server/contract/json-record';
import type { RenderedResult } from 'recourse-server/contract/tool-result';
import type { BatchRequest } from 'recourse-server/executor/batch-request';
import type { Client } from 'recourse-server/executor/deadline';
import type { PendingTask, PendingTasks } from 'recourse-server/routes/pending-tasks';
import { ProblemError } from 'recourse-server/routes/problems';
import type { Background } from 'recourse-server/routes/route-host';
import { askStore } from 'recourse-server/routes/sessions';
import * as z from 'zod';
import { toCallResult } from './call-result.ts';
import { type Exchange, TASKS } from './rpc-exchange.ts';

// The Tasks extension of revision 2026-07-28 (SEP-2663): a call of a background tool is a task, whose id is the handle of the
// pending call. Earlier revisions have other tasks, which are not offered.

const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';

/** Whether the `_meta` of a request declares the extension, which counts for this request alone. */
export const declaresTasks = (meta: unknown): boolean =>
  isRecord(memberOf(memberOf(memberOf(meta, CAPABILITIES), 'extensions'), TASKS));

/** What a client is told that asks for what only a task can give, and does not declare that it knows tasks. */
export const createMissingTasksProblem = (): ProblemError =>
  new ProblemError(
    400,
    'missing_capability',
    `This needs the extension ${TASKS} in the clientCapabilities of the request.`,
  );

type Asked = { readonly name: string; readonly declares: boolean };

/**
 * Whether a call of 2026-07-28 becomes a task. Throws where its tool only runs as one and its client does not know tasks. Of a tool
 * that the key may not use nothing is told: the executor refuses the call.
 */
export const isTaskCall = (
  { name, declares }: Asked,
  { mayUse }: Pick<Exchange, 'mayUse'>,
  findTool: (name: string) => { readonly background?: Background } | undefined,
): boolean => {
  const background = mayUse(name) ? (findTool(name)?.background ?? 'never') : 'never';
  if (background === 'always' && !declares) throw createMissingTasksProblem();
  return declares && background !== 'never';
};

const NEVER_GONE: Client = { isGone: () => false, whenGone: () => () => undefined };

/**
 * A call of a background tool as a batch that is answered by its handle at once. It goes on without its client; its request id
 * stands for the key that its caller has not chosen.
 */
export const createTaskBatch = (
  batch: BatchRequest,
  { tenant, requestId }: Pick<Exchange, 'tenant' | 'requestId'>,
  toRequestKey: (tenant: string, requestId: string) => string,
) => {
  const requestKey = toRequestKey(tenant, requestId);
  return {
    ...batch,
    client: NEVER_GONE,
    onProgress: null,
    async: { waitMs: 0, notify: null },
    idempotency: batch.idempotency ?? { key: null, recordKey: requestKey, requestKey },
  };
};

const Pending = z.object({
  message: z.string(),
  pending: z.object({
    since: z.string(),
    expires_at: z.string(),
    poll_after_ms: z.number(),
  }),
  /** Since it was accepted. */
  duration_ms: z.number(),
});

/** What `tools/call` is answered by where the call goes on: `CreateTaskResult` of the extension. */
export type CreatedTask = { readonly resultType: 'task' } & ReturnType<typeof toTask>;

/** The result of a call that has not ended, as the handle of a task; null for any other result. */
export const readCreatedTask = ({ json, handle }: RenderedResult): CreatedTask | null => {
  if (handle === null) return null;
  const { message, pending, duration_ms: elapsedMs } = Pending.parse(JSON.parse(json));
  const { since, expires_at: expiresAt, poll_after_ms: pollAfterMs } = pending;
  const updatedAt = new Date(Date.parse(since) + elapsedMs).toISOString();
  return { resultType: 'task', ...toTask(handle, { message, createdAt: since, updatedAt, expiresAt, pollAfterMs }) };
};

type Told = Pick<PendingTask, 'message' | 'createdAt' | 'updatedAt' | 'expiresAt' | 'pollAfterMs'>;

/** What every task tells, whatever its state. */
const toTask = (taskId: string, { message, createdAt, updatedAt, expiresAt, pollAfterMs }: Told) => ({
  taskId,
  status: 'working',
  statusMessage: message,
  createdAt,
  // Of the state that is told: no other time of it is kept.
  lastUpdatedAt: updatedAt,
  // A result is kept for a day after its end, so for longer than this.
  ttlMs: Math.max(1, Date.parse(expiresAt) - Date.parse(createdAt)),
  pollIntervalMs: Math.max(1, Math.ceil(pollAfterMs)),
});

const Ended = z.looseObject({ message: z.string(), error: z.looseObject({ code: z.string() }).nullable() });

/** Of a result that was cut off by its caller's wish. */
const isCancelled = ({ error }: z.infer<typeof Ended>): boolean => error?.code === 'cancelled';

type Terms = {
  readonly exchange: Pick<Exchange, 'requestId' | 'links'>;
  readonly options: TaskOptions;
};

/**
 * A task as `tasks/get` tells it. One that has ended is `completed` with its result, also where that is an error, for the model is
 * to read it; one that was cancelled is `cancelled`. `failed` is none: that is for calls that have no result.
 */
const describeTask = (taskId: string, task: PendingTask, { exchange, options }: Terms) => {
  const told = toTask(taskId, task);
  if (task.state !== 'ended' || task.result === null) return told;
  const result = JSON.parse(task.result);
  const ended = Ended.parse(result);
  if (isCancelled(ended)) return { ...told, status: 'cancelled', statusMessage: ended.message };
  const { statusMessage: _message, ...rest } = told;
  const promises = options.findTool(task.tool)?.outputSchema?.['type'] === 'object' ? 'object' : 'nothing';
  const about = { requestId: exchange.requestId, links: exchange.links, promises, isKeyed: false } as const;
  // As `tools/call` would have answered it: the extension's own client refuses a result without its type.
  return { ...rest, status: 'completed', result: { resultType: 'complete', ...toCallResult(result, about) } };
};

export type TaskOptions = {
  readonly pendingTasks: PendingTasks;
  readonly findTool: (name: string) => { readonly outputSchema: Readonly<Record<string, unknown>> | null } | undefined;
  readonly isUnavailable: (error: unknown) => boolean;
};

type AnswerTask = (
  exchange: Pick<Exchange, 'tenant' | 'mayUse' | 'requestId' | 'links'>,
  taskId: string,
) => Promise<Readonly<Record<string, unknown>>>;

/** What `params` of every method of a task have in common. */
export const TaskParams = z.looseObject({ taskId: z.string() });

/**
 * Answers the methods of the extension. Each asks for the task first: a handle grants nothing, and of the task of another tenant,
 * or of a tool that the key may not use, nobody is told more than of one that never was.
 */
export const createTaskMethods = (options: TaskOptions) => {
  const { pendingTasks } = options;
  const find = async (
    { tenant, mayUse }: Pick<Exchange, 'tenant' | 'mayUse'>,
    taskId: string,
  ): Promise<PendingTask> => {
    const task = HANDLE.test(taskId) ? await askStore(pendingTasks.find(tenant, taskId, 0), options) : null;
    if (task === null || !mayUse(task.tool)) throw createNoTaskProblem();
    return task;
  };
  const get: AnswerTask = async (exchange, taskId) =>
    describeTask(taskId, await find(exchange, taskId), { exchange, options });
  // Nothing ever waits for input, so that there is no answer to take.
  const update: AnswerTask = async (exchange, taskId) => {
    await find(exchange, taskId);
    return {};
  };
  const cancel: AnswerTask = async (exchange, taskId) => {
    await find(exchange, taskId);
    await askStore(pendingTasks.cancel(exchange.tenant, taskId), options);
    return {};
  };
  return new Map<TaskMethod, AnswerTask>([
    ['tasks/get', get],
    ['tasks/update', update],
    ['tasks/cancel', cancel],
  ]);
};

export type TaskMethod = 'tasks/get' | 'tasks/update' | 'tasks/cancel';

// What no handle looks like is not asked for.
const HANDLE = /^c_[\w-]{22}$/;

const createNoTaskProblem = (): ProblemError =>
  new ProblemError(404, 'unknown_task', 'No task has this id: it was never created, or its result is no longer kept.');
