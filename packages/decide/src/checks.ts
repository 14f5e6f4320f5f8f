import { CallContext, type CreateCallLog } from 'recourse-server/executor/call-context';
import {
  type Client,
  type Clock,
  createCancellation,
  type Purpose,
  type RunHosted,
} from 'recourse-server/executor/deadline';
import { createEffectId } from 'recourse-server/executor/effect-id';
import { invokeTool } from 'recourse-server/executor/invoke-tool';
import { toCallOutcome } from 'recourse-server/executor/outcome';
import type { ToolRegistry } from 'recourse-server/tools/registry';
import type { ReconcileBy, Tool } from 'recourse-server/tools/tool';
import { findAsked } from 'recourse-server/tools/tool-override';
import type { LookEnd } from './effects/effect-decisions.ts';
import type { EffectEnd, EffectSpec } from './effects/effect-kind.ts';
import { createReconcilingTool, Finding } from './finding.ts';
import { fillArguments, findHappened } from './other-tool.ts';

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

/** Finds how the writes of a tool are looked for, first as the operator says; null: they cannot be. */
export const createChecks =
  (options: ChecksOptions) =>
  (name: string): Check | null => {
    const tool = options.registry.find(name);
    if (tool === undefined || tool.effects !== 'write') return null;
    const { reconcileBy, reconcileTimeoutMs } = tool;
    if (reconcileBy !== null) return createOtherCheck(tool, reconcileBy, options);
    if (reconcileTimeoutMs === null) return null;
    return {
      timeoutMs: reconcileTimeoutMs,
      afterMs: 0,
      run: (sought, limitMs) => askTool(tool, sought, { ...options, limitMs }).catch(explainThrown),
    };
  };

const createOtherCheck = (tool: Tool, by: ReconcileBy, options: ChecksOptions): Check => ({
  timeoutMs: Math.min(MOST_OF_OTHER_MS, options.registry.find(by.tool)?.timeoutMs ?? MOST_OF_OTHER_MS),
  afterMs: by.final ? by.afterMs : 0,
  run: (sought, limitMs) => askOther(tool, by, sought, { ...options, limitMs }).catch(explainThrown),
});

const MOST_OF_OTHER_MS = 5000;

const explainThrown = (error: unknown): Checked =>
  createUnclear(error instanceof Error ? error.message : String(error));

type LookOptions = ChecksOptions & { readonly limitMs: number };
type ReadOptions = Omit<ChecksOptions, 'registry'> & { readonly limitMs: number; readonly purpose: Purpose };

const askTool = async (tool: Tool, sought: Sought, options: LookOptions): Promise<Checked> => {
  const { startedAt } = sought;
  const looking = tool.runsIn === 'service' ? createReconcilingTool(tool, startedAt) : tool;
  return readFinding(await ask(looking, sought, { ...options, purpose: { startedAt } }));
};

/** Asks another tool, as the operator says, with an effect id of its own: its upstream may answer a repeat of one as it did before. */
const askOther = async (tool: Tool, by: ReconcileBy, sought: Sought, options: LookOptions): Promise<Checked> => {
  const other = findAsked(tool, by, options.registry.find);
  if (typeof other === 'string') return createUnclear(other);
  const asked = { ...sought, input: fillArguments(by.arguments, sought), effectId: createEffectId() };
  const value = findHappened(await ask(other, asked, { ...options, purpose: 'run' }), by.happened);
  if (value === null && !by.final) return NOT_FOUND;
  const verdict = value === null ? 'did_not_happen' : 'happened';
  const [issue] = (verdict === 'happened' && tool.runsIn === 'service' && (await tool.checkOutput?.(value))) || [];
  const end = createEnd('tool', verdict, issue === undefined ? { value } : { problem: issue.message });
  return { found: { kind: 'found', end }, problem: null };
};

const NOBODY: Client = { isGone: () => false, whenGone: () => () => undefined };

/** What a call that only reads is told of. */
export type Asked = Omit<Sought, 'startedAt' | 'tool'>;

/** The value that a tool gives, which only reads, as JSON text: no call of its session, without budget and journal. Rejects where it fails. */
export const ask = async (
  tool: Tool,
  { input, ...about }: Asked,
  { purpose, ...options }: ReadOptions,
): Promise<string> => {
  const { limitMs, maxResultBytes, createLog, runHosted } = options;
  const { effectId, tenant, caller, requestId, sessionKey, id } = about;
  const cancellation = createCancellation(limitMs, NOBODY, options);
  const context = new CallContext({
    ...{ requestId, tool: tool.name, callId: id, session: sessionKey, effects: 'read', retriesLeft: 0, createLog },
    ...{ tenant: caller === null ? null : tenant, caller, effectId, timeoutMs: limitMs },
  });
  const terms = { context, timeoutMs: limitMs, cancellation };
  try {
    const ran =
      tool.runsIn === 'service'
        ? await invokeTool({ ...tool, effects: 'read' }, input, terms)
        : await runHosted({ ...tool, effects: 'read' }, input, { ...terms, graceful: 'on', purpose });
    const outcome = toCallOutcome(ran, { ...tool, effects: 'read' }, { graceful: 'on', maxResultBytes });
    if (outcome.kind === 'failure') throw new Error(outcome.failure.message);
    return outcome.valueJson;
  } finally {
    cancellation.close();
  }
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

const createUnclear = (problem: string): Checked => ({ ...NOT_FOUND, problem });

const NOT_FOUND: Checked = { found: { kind: 'unclear', retryAfterMs: null }, problem: null };
