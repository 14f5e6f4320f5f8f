import { CallContext, type CreateCallLog } from 'recourse-server/executor/call-context';
import {
  type Client,
  type Clock,
  createCancellation,
  type RunHosted,
  type RunOutcome,
} from 'recourse-server/executor/deadline';
import { invokeTool } from 'recourse-server/executor/invoke-tool';
import { toCallOutcome } from 'recourse-server/executor/outcome';
import type { ToolRegistry } from 'recourse-server/tools/registry';
import type { Tool } from 'recourse-server/tools/tool';
import type { LookEnd } from './effects/effect-decisions.ts';
import type { EffectEnd, EffectSpec } from './effects/effect-kind.ts';
import { createReconcilingTool, Finding } from './finding.ts';

/** What a check is asked for. */
export type Sought = Pick<EffectSpec, 'effectId' | 'tool' | 'tenant' | 'caller' | 'requestId' | 'sessionKey' | 'id'> & {
  readonly input: Readonly<Record<string, unknown>>;
  /** Unix milliseconds. */
  readonly startedAt: number;
};

/** `problem`: why a check has failed, which counts as unclear; null: it has answered. */
export type Checked = { readonly found: LookEnd; readonly problem: string | null };

/** How writes of a tool are looked for. */
export type Check = {
  /** Milliseconds. */
  readonly timeoutMs: number;
  /** How long after its end a run may still take effect, in milliseconds. */
  readonly afterMs: number;
  /** Never rejects. */
  readonly run: (sought: Sought, limitMs: number) => Promise<Checked>;
};

export type ChecksOptions = Clock & {
  readonly registry: Pick<ToolRegistry, 'find'>;
  readonly runHosted: RunHosted;
  readonly createLog: CreateCallLog;
  readonly maxResultBytes: number;
};

/** Finds how the writes of a tool are looked for; null: they cannot be. */
export const createChecks =
  (options: ChecksOptions) =>
  (name: string): Check | null => {
    const tool = options.registry.find(name);
    if (tool === undefined || tool.reconcileTimeoutMs === null || tool.effects !== 'write') return null;
    return {
      timeoutMs: tool.reconcileTimeoutMs,
      afterMs: 0,
      run: (sought, limitMs) => askTool(tool, sought, limitMs, options),
    };
  };

const NOBODY: Client = { isGone: () => false, whenGone: () => () => undefined };

const askTool = async (tool: Tool, sought: Sought, limitMs: number, options: ChecksOptions): Promise<Checked> => {
  const { maxResultBytes } = options;
  const cancellation = createCancellation(limitMs, NOBODY, options);
  try {
    const ran = await look(tool, sought, { ...options, limitMs, cancellation });
    const reading = { ...tool, effects: 'read' } as const;
    const outcome = toCallOutcome(ran, reading, { graceful: 'on', maxResultBytes });
    if (outcome.kind === 'failure') return createUnclear(outcome.failure.message);
    return readFinding(outcome.valueJson);
  } catch (error) {
    return createUnclear(error instanceof Error ? error.message : String(error));
  } finally {
    cancellation.close();
  }
};

const look = (
  tool: Tool,
  { input, startedAt, ...about }: Sought,
  {
    limitMs,
    cancellation,
    createLog,
    runHosted,
  }: ChecksOptions & { readonly limitMs: number; readonly cancellation: ReturnType<typeof createCancellation> },
): RunOutcome | Promise<RunOutcome> => {
  const { effectId, tenant, caller, requestId, sessionKey, id } = about;
  const context = new CallContext({
    ...{ requestId, tool: tool.name, callId: id, session: sessionKey, effects: 'read', retriesLeft: 0, createLog },
    ...{ tenant: caller === null ? null : tenant, caller, effectId, timeoutMs: limitMs },
  });
  const terms = { context, timeoutMs: limitMs, cancellation };
  return tool.runsIn === 'service'
    ? invokeTool(createReconcilingTool(tool, startedAt), input, terms)
    : runHosted({ ...tool, effects: 'read' }, input, { ...terms, graceful: 'on', purpose: { startedAt } });
};

const readFinding = (json: string): Checked => {
  const read = Finding.safeParse(JSON.parse(json));
  if (!read.success) return createUnclear('It gave no verdict.');
  const { verdict, value, message, problem, retryAfterMs } = read.data;
  if (verdict === 'unclear') return { found: { kind: 'unclear', retryAfterMs }, problem: null };
  return { found: { kind: 'found', end: createEnd('tool', verdict, { value, message, problem }) }, problem: null };
};

/** What was found out of a write. */
export const createEnd = (
  by: EffectEnd['by'],
  verdict: EffectEnd['verdict'],
  {
    value = null,
    message = '',
    problem = null,
    reason = null,
  }: {
    readonly value?: unknown;
    readonly message?: string;
    readonly problem?: string | null;
    readonly reason?: string | null;
  },
): EffectEnd => ({
  ...{ verdict, by, message, problem, reason },
  valueJson: verdict === 'happened' ? JSON.stringify(value ?? null) : 'null',
});

const createUnclear = (problem: string): Checked => ({ found: { kind: 'unclear', retryAfterMs: null }, problem });
