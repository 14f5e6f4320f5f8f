import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { ToolDescription } from 'recourse-server/internal/contract/tool-description.ts';
import type { BatchAnswer, BatchRequest } from 'recourse-server/internal/executor/batch-request.ts';
import { toEndedResult } from 'recourse-server/internal/executor/render-result.ts';
import type { PendingTask, PendingTasks } from 'recourse-server/internal/routes/pending-tasks.ts';
import type { Background } from 'recourse-server/internal/routes/route-host.ts';

type Arguments = Readonly<Record<string, unknown>>;

type DeskTool = {
  readonly background: Background;
  /** Gives the text of a success; throws with that of a failure. */
  readonly run: (given: Arguments, signal: AbortSignal) => Promise<string>;
};

const OWN: ReadonlyMap<string, DeskTool> = new Map<string, DeskTool>([
  ['greet', { background: 'never', run: async ({ name }) => `Hello, ${name}!` }],
  [
    'slow_compute',
    {
      background: 'optional',
      run: async ({ seconds }, signal) => {
        await wait(Number(seconds) * 1000, undefined, { signal, ref: false });
        return `Computed for ${seconds} s.`;
      },
    },
  ],
  [
    'failing_job',
    {
      background: 'always',
      run: async () => {
        await wait(50);
        throw new Error('The job failed.');
      },
    },
  ],
]);

/** What the conformance suite asks of tools that a task cannot be here: they end like any other. */
const ENDS_AT_ONCE = ['protocol_error_job', 'confirm_delete', 'multi_input', 'test_tool_with_task'];

const atOnce: DeskTool = { background: 'optional', run: async () => 'Done.' };

const TOOLS: ReadonlyMap<string, DeskTool> = new Map([...OWN, ...ENDS_AT_ONCE.map((name) => [name, atOnce] as const)]);

const toDescription = (name: string): ToolDescription => ({
  name,
  description: '',
  effects: 'read',
  input_schema: { type: 'object' },
  output_schema: null,
  limits: { timeout_ms: 1000, retries: 3, concurrency: null, max_calls_per_session: null },
  available: true,
  unavailable_reason: null,
  source: 'builtin',
});

type Kept = PendingTask & { readonly tenant: string; readonly cancelling: AbortController };

const toResult = (name: string, outcome: object): string =>
  JSON.stringify({ index: 0, id: null, name, executed: 'yes', value: null, retry: null, duration_ms: 1, ...outcome });

const toEnd = async (name: string, running: Promise<string>, { signal }: AbortController): Promise<string> => {
  try {
    return toResult(name, { success: true, outcome: 'success', value: await running, message: '', error: null });
  } catch (error) {
    const code = signal.aborted ? 'cancelled' : 'tool_failed';
    const message = signal.aborted ? `'${name}' was cancelled.` : String(error);
    const detail = { code, type: code, hint: null, issues: [], retry_after_ms: null, fatal: false, reference: 'r' };
    return toResult(name, { success: false, outcome: 'failed', message, error: detail });
  }
};

/** An executor with tools whose calls go on, as far as the door sees of them: a text each, and nothing of budgets. */
export const createTaskDesk = () => {
  const kept = new Map<string, Kept>();
  const batches: BatchRequest[] = [];
  const begin = (name: string, tool: DeskTool, given: Arguments, tenant: string): string => {
    const handle = `c_${randomBytes(17).toString('base64url').slice(0, 22)}`;
    const cancelling = new AbortController();
    const now = Date.now();
    const task: Kept = {
      tenant,
      tool: name,
      state: 'running',
      message: `Tool '${name}' is still running.`,
      pollAfterMs: 100,
      createdAt: new Date(now).toISOString(),
      updatedAt: new Date(now).toISOString(),
      expiresAt: new Date(now + 3_600_000).toISOString(),
      approval: null,
      result: null,
      cancelling,
    };
    kept.set(handle, task);
    void toEnd(name, tool.run(given, cancelling.signal), cancelling).then((result) =>
      kept.set(handle, { ...task, state: 'ended', result }),
    );
    return handle;
  };
  const executeBatch = async (batch: BatchRequest): Promise<BatchAnswer> => {
    batches.push(batch);
    const [call] = batch.calls;
    const name = String(Reflect.get(Object(call), 'name'));
    const given = { ...Object(Reflect.get(Object(call), 'arguments')) };
    const tool = TOOLS.get(name);
    if (tool === undefined) throw new Error(`There is no ${name}.`);
    if (Reflect.get(batch, 'async') === undefined || tool.background === 'never') {
      const result = await toEnd(name, tool.run(given, new AbortController().signal), new AbortController());
      return { kind: 'results', results: [toEndedResult(result)], origin: 'run' };
    }
    const handle = begin(name, tool, given, batch.tenant);
    const task = kept.get(handle);
    const pending = {
      call: handle,
      state: 'running',
      since: task?.createdAt,
      expires_at: task?.expiresAt,
      poll_after_ms: task?.pollAfterMs,
      progress: null,
      approval: null,
    };
    const { message } = { message: '', ...task };
    const outcome = { success: false, outcome: 'pending', executed: 'maybe', message, error: null, pending };
    return {
      kind: 'results',
      results: [{ json: toResult(name, outcome), handle, plainValueJson: null }],
      origin: 'run',
    };
  };
  const ofTenant = (tenant: string, handle: string): Kept | null => {
    const task = kept.get(handle);
    return task?.tenant === tenant ? task : null;
  };
  const pendingTasks: PendingTasks = {
    find: async (tenant, handle) => ofTenant(tenant, handle),
    cancel: async (tenant, handle) => {
      const task = ofTenant(tenant, handle);
      if (task === null) return 'unknown';
      task.cancelling.abort();
      return task.state === 'ended' ? 'ended' : 'running';
    },
  };
  return {
    /** Every batch that came. */
    batches,
    tools: [...TOOLS.keys()].map(toDescription),
    findTool: (name: string) => {
      const tool = TOOLS.get(name);
      return tool === undefined ? undefined : { background: tool.background, inputSchema: {}, outputSchema: null };
    },
    executeBatch,
    pendingTasks,
  };
};
