import { isRecord, memberOf } from 'recourse-server/contract/json-record';
import type { RenderedResult } from 'recourse-server/contract/tool-result';
import type { BatchRequest } from 'recourse-server/executor/batch-request';
import type { Client } from 'recourse-server/executor/deadline';
import type { PendingTask, PendingTasks } from 'recourse-server/routes/pending-tasks';
import { ProblemError } from 'recourse-server/routes/problems';
import type { Background } from 'recourse-server/routes/route-host';
import { askStore } from 'recourse-server/routes/sessions';
import * as z from 'zod';
import { toAsked, writeInputRequests } from './ask-person.ts';
import { createCallResult } from './call-result.ts';
import { capabilitiesOf, type Exchange, type RpcError, TASKS } from './rpc-exchange.ts';

// The Tasks extension of revision 2026-07-28 (SEP-2663): a call of a background tool is a task, whose id is the handle of the
// pending call. Earlier revisions have other tasks, which are not offered.

/** Whether the `_meta` of a request declares the extension, which counts for this request alone. */
export const declaresTasks = (meta: unknown): boolean =>
  isRecord(memberOf(memberOf(capabilitiesOf(meta), 'extensions'), TASKS));

/** The answer to a request for what only a task can give, of a client that does not declare that it knows tasks. */
export const createMissingTasksProblem = (): ProblemError =>
  new ProblemError(
    400,
    'missing_capability',
    `This needs the extension ${TASKS} in the clientCapabilities of the request.`,
  );

/**
 * Whether a call of 2026-07-28 becomes a task. Throws where its tool only runs as one and its client does not know tasks. Of a tool
 * that the key may not use nothing is said: the executor refuses the call.
 */
export const isTaskCall = (
  name: string,
  meta: unknown,
  { mayUse }: Pick<Exchange, 'mayUse'>,
  { findTool, pendingTasks }: Pick<TaskOptions, 'pendingTasks' | 'findTool'>,
): boolean => {
  const background = pendingTasks === undefined || !mayUse(name) ? 'never' : (findTool(name)?.background ?? 'never');
  if (background === 'never') return false;
  const declares = declaresTasks(meta);
  if (background === 'always' && !declares) throw createMissingTasksProblem();
  return declares;
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
    listener: null,
    async: { waitMs: 0, notify: null },
    idempotency: batch.idempotency ?? { key: null, recordKey: requestKey, requestKey },
  };
};

const Pending = z.object({
  message: z.string(),
  pending: z.object({ since: z.string(), expires_at: z.string(), poll_after_ms: z.number() }),
  /** Since it was accepted. */
  duration_ms: z.number(),
});

/** The result of a call that goes on, as `CreateTaskResult` of the extension; null for any other result. */
export const readCreatedTask = ({ json, handle }: RenderedResult) => {
  if (handle === null) return null;
  const { message, pending, duration_ms: elapsedMs } = Pending.parse(JSON.parse(json));
  const { since, expires_at: expiresAt, poll_after_ms: pollAfterMs } = pending;
  const updatedAt = new Date(Date.parse(since) + elapsedMs).toISOString();
  return {
    resultType: 'task',
    ...describeState(handle, { message, createdAt: since, updatedAt, expiresAt, pollAfterMs }),
  };
};

type TaskState = Pick<PendingTask, 'message' | 'createdAt' | 'updatedAt' | 'expiresAt' | 'pollAfterMs'>;

/** What an answer says of every task, whatever its state. */
const describeState = (taskId: string, { message, createdAt, updatedAt, expiresAt, pollAfterMs }: TaskState) => ({
  taskId,
  status: 'working',
  statusMessage: message,
  createdAt,
  // Of the state that is shown: no other time of it is stored.
  lastUpdatedAt: updatedAt,
  // A result is kept for a day after its end, so for longer than this.
  ttlMs: Math.max(1, Date.parse(expiresAt) - Date.parse(createdAt)),
  pollIntervalMs: Math.max(1, Math.ceil(pollAfterMs)),
});

const Ended = z.looseObject({ message: z.string(), error: z.looseObject({ code: z.string() }).nullable() });

/** Of a result that was cut off by its caller's wish. */
const isCancelled = ({ error }: z.infer<typeof Ended>): boolean => error?.code === 'cancelled';

type TaskReader = Pick<Exchange, 'requestId' | 'links'> & {
  /** Whether the client takes its user to where a person decides. */
  readonly inputs: 'shown' | 'told';
};

/**
 * A task as `tasks/get` answers it. One that has ended is `completed` with its result, also where that is an error, for the model is
 * to read it; one that was cancelled is `cancelled`. None is `failed`: that is for calls that have no result.
 */
const describeTask = (
  taskId: string,
  task: PendingTask,
  { requestId, links, inputs }: TaskReader,
  { findTool }: Pick<TaskOptions, 'findTool'>,
) => {
  const shown = describeState(taskId, task);
  const asked = inputs === 'shown' ? toAsked(task.approval) : null;
  if (asked !== null) return { ...shown, status: 'input_required', inputRequests: writeInputRequests(asked) };
  if (task.state !== 'ended' || task.result === null) return shown;
  const result = JSON.parse(task.result);
  const ended = Ended.parse(result);
  if (isCancelled(ended)) return { ...shown, status: 'cancelled', statusMessage: ended.message };
  const { statusMessage: _message, ...rest } = shown;
  const promises = findTool(task.tool)?.outputSchema?.['type'] === 'object' ? 'object' : 'nothing';
  const about = { requestId, links, promises, isKeyed: false } as const;
  // As `tools/call` would have answered it: the extension's own client refuses a result without its type.
  return { ...rest, status: 'completed', result: { resultType: 'complete', ...createCallResult(result, about) } };
};

export type TaskOptions = {
  /** Left out: no call goes on after its answer. */
  readonly pendingTasks?: PendingTasks | undefined;
  readonly findTool: (
    name: string,
  ) =>
    | { readonly outputSchema: Readonly<Record<string, unknown>> | null; readonly background?: Background }
    | undefined;
  readonly isUnavailable: (error: unknown) => boolean;
};

export type TaskMethod = 'tasks/get' | 'tasks/update' | 'tasks/cancel';

/**
 * Answers a method of the extension; null where there is no such task. A handle grants nothing: of the task of another tenant, or
 * of a tool that the key may not use, a caller learns no more than of one that never was.
 */
export const answerTaskMethod = async (
  method: TaskMethod,
  taskId: string,
  exchange: Pick<Exchange, 'tenant' | 'mayUse'> & TaskReader,
  options: TaskOptions,
): Promise<object | null> => {
  const { tenant, mayUse } = exchange;
  const { pendingTasks } = options;
  // What no handle looks like is not asked for.
  if (pendingTasks === undefined || !HANDLE.test(taskId)) return null;
  const task = await askStore(pendingTasks.find(tenant, taskId, 0), options);
  if (task === null || !mayUse(task.tool)) return null;
  if (method === 'tasks/get') return describeTask(taskId, task, exchange, options);
  // What a task waits for is decided at its URL, so `tasks/update` has nothing to take.
  if (method === 'tasks/cancel') await askStore(pendingTasks.cancel(tenant, taskId), options);
  return {};
};

const HANDLE = /^c_[\w-]{22}$/;

/** What an unknown task is answered, as the extension has it: `Invalid params`. */
export const createNoTaskError = ({ requestId }: Pick<Exchange, 'requestId'>): RpcError => ({
  code: -32_602,
  message: 'No task has this id: it was never created, or its result is no longer kept.',
  data: { code: 'unknown_task', request_id: requestId },
});
