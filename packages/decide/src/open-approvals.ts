import { createDueIndex, type DueIndex } from '@recourse/background/jobs/due-index';
import { handleOfPlace } from '@recourse/background/pending-service';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import type { ConfigContent } from 'recourse-server/config/file/load-config-file';
import type { FirstConfigFile } from 'recourse-server/config/file/read-config-file';
import { type Config, hasKeys } from 'recourse-server/config/settings/config';
import { isRecord } from 'recourse-server/contract/json-record';
import type { Approval } from 'recourse-server/contract/tool-result';
import { createEffectId } from 'recourse-server/executor/effect-id';
import { toCheckingTool } from 'recourse-server/executor/invoke-tool';
import { hideSensitive } from 'recourse-server/executor/journal';
import type { CallToDecide } from 'recourse-server/executor/policies';
import type { Redactor } from 'recourse-server/executor/redactor';
import type { RouteHost } from 'recourse-server/routes/route-host';
import { parseObject } from 'recourse-server/sessions/idempotency/result-cap';
import type { StoreBackend } from 'recourse-server/sessions/store-backend';
import { describeCauses } from 'recourse-server/telemetry/describe-error';
import type { Metrics } from 'recourse-server/telemetry/metrics';
import { fillDefaults } from 'recourse-server/tools/fill-defaults';
import type { ToolRegistry } from 'recourse-server/tools/registry';
import type { Tool } from 'recourse-server/tools/tool';
import type { ApplyOptions } from './apply-verdict.ts';
import { createApprovalMetrics } from './approval-metrics.ts';
import {
  type ApprovalAbout,
  type ApprovalBookOptions,
  type ApprovalEvent,
  createApprovalBook,
} from './approvals/approval-book.ts';
import { digestCall, type FindEntry } from './approvals/approval-digest.ts';
import { type ApprovalSpec, approvalIdOf, approvalKind } from './approvals/approval-kind.ts';
import { addApprovalRoutes, type Edit, listWaiting } from './approvals/approval-routes.ts';
import { ApprovalStore, entryOf, type OpenApproval } from './approvals/approval-store.ts';
import { createApprovalSweep } from './approvals/approval-sweep.ts';
import { createApprovingTool } from './approvals/approving-tool.ts';
import { restoreHidden } from './approvals/restore-hidden.ts';
import type { AuditLog } from './audit/audit.ts';
import type { DecisionEvent } from './audit/audit-event.ts';
import { ask, type ChecksOptions } from './checks.ts';
import { APPROVALS, type ApprovalSettings } from './policies/policy-settings.ts';

export type ApprovalParts = Omit<ChecksOptions, 'registry' | 'maxResultBytes'> & {
  readonly backend: StoreBackend;
  readonly configFile: FirstConfigFile | null;
  readonly registry: Pick<ToolRegistry, 'find' | 'list'>;
  readonly redactor: Redactor;
  readonly webhooks: ApplyOptions['webhooks'];
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly audit: Pick<AuditLog, 'decided'>;
  /** Has a pending call ask how it was decided; `gone`: it is not there. Rejects with the store. */
  readonly releasePending: (tenant: string, handle: string) => Promise<'told' | 'gone'>;
};

/** How many approvals of a tenant, and of all, may wait at once. */
const LIMITS = { ofHolder: 1000, ofAll: 100_000 } as const;
/** What the `approval` of a tool may take. */
const MOST_OF_TOOL_MS = 5000;

/** What people approve before it runs: what stands in the records, what calls ask of them, and the routes by which people decide. */
export const openApprovals = async (config: Config, parts: ApprovalParts) => {
  const { backend, configFile, registry, redactor, log, now, webhooks, releasePending, audit } = parts;
  let content = configFile?.content ?? null;
  const settings = (): ApprovalSettings => content?.approvals ?? NO_APPROVALS;
  warnOfAnonymous(config, settings(), log);
  const store = new ApprovalStore({
    ...{ store: backend.records, sealing: backend.sealing, live: await openLive(backend, now) },
  });
  await takeBack(backend, store);
  const findEntry: FindEntry = ({ upstream }) => findUpstream(content, upstream?.name ?? null);
  const onFailed = (error: unknown): void => log.warn({ causes: describeCauses(error) }, 'step on an approval failed');
  const reading = { ...parts, limitMs: MOST_OF_TOOL_MS, maxResultBytes: config.MAX_RESULT_BYTES };
  const counted = createApprovalMetrics(parts.metrics);
  const happened: ApprovalBookOptions['onEvent'] = (event, { key, spec }) => {
    counted.happened(spec.tool, event);
    log.info({ ...describeKey(key, spec), event }, 'approval');
  };
  const onEvent: ApprovalBookOptions['onEvent'] = (event, about) => {
    happened(event, about);
    const by = event === 'requested' ? about.spec.key : null;
    // That it was used stands in the line of its call.
    if (event !== 'used') audit.decided(describeDecision(about, { by, decision: event, accepted: true, reason: null }));
  };
  let wasCovered = false;
  const sweep = createApprovalSweep({
    ...{ store, releasePending, onFailed, sampled: counted.sampled },
    isCovered: () => {
      // What waits goes on waiting where a later version of the file asks for nobody.
      wasCovered ||= registry.list().some(book.concern);
      return wasCovered;
    },
    onExpired: ({ approval: { digest }, ...found }) => onEvent('expired', { ...found, digest }),
  });
  const book = createApprovalBook({
    ...{ store, settings, findEntry, redactor, onFailed, onEvent },
    askTool: (call) => askTool(call, reading),
    urlOf: (id) => settings().url?.replaceAll('{id}', id) ?? null,
    announce: (call, approval) => void announce(call, approval, webhooks).catch(onFailed),
  });
  const addRoutes = (app: FastifyInstance, host: RouteHost): void =>
    addApprovalRoutes(app, host, {
      ...{ store, redactor, findTool: registry.find },
      // A sweep tells who could not be told now.
      release: (key) => sweep.release(key).catch(onFailed),
      prepareEdit: (found, input) => prepareEdit(found, input, { ...reading, findEntry, findTool: registry.find }),
      onDecided: ({ key, approval, spec }, { by, decision, reason, result, digest }) => {
        const event = EVENTS[decision];
        const accepted = result === 'decided';
        const about = { key, spec, digest };
        log.info({ ...describeKey(key, spec), by, decision, reason, result }, 'approval decided');
        audit.decided(describeDecision(about, { by, decision: event ?? 'undone', accepted, reason }));
        if (!accepted) return;
        happened(event ?? 'cancelled', about);
        if (decision in EVENTS) counted.decided(backend.records.now() - approval.requestedAt);
      },
    });
  return {
    book,
    addRoutes,
    /** Approvals of a tenant that wait. Rejects with the store. */
    listWaiting: async (tenant: string) => (await listWaiting(tenant, store)).map(({ spec: { tool } }) => ({ tool })),
    /** Takes what a later version of the configuration file says. */
    apply: (next: ConfigContent): void => {
      content = next;
    },
    start: (): void => sweep.start(),
    close: (): void => sweep.close(),
  };
};

const EVENTS: Readonly<Record<string, ApprovalEvent>> = { approve: 'approved', edit: 'edited', deny: 'denied' };

const describeKey = (key: string, { tool, tenant }: ApprovalSpec) => ({ tool, id: approvalIdOf(key), tenant });

const describeDecision = (
  { key, spec: { tenant, tool, sessionKey, requestId, index }, digest }: ApprovalAbout,
  said: Pick<DecisionEvent, 'by' | 'decision' | 'accepted' | 'reason'>,
): DecisionEvent => {
  const place = { session: sessionKey, request_id: requestId, index };
  const approval = { id: approvalIdOf(key), digest };
  return { tenant, tool, effect_id: null, ...place, of: 'approval', approval, ...said };
};

/** The entry of the configuration file that a tool comes from. */
const findUpstream = (content: ConfigContent | null, upstream: string | null): unknown =>
  upstream === null ? null : (content?.upstreams.find(({ name }) => upstream.endsWith(`:${name}`)) ?? null);

type Reading = Omit<ChecksOptions, 'registry'> & { readonly limitMs: number };

const askTool = async (call: CallToDecide, options: Reading): Promise<'ask' | 'allow'> => {
  const { tool } = call;
  const asked = tool.runsIn === 'service' ? createApprovingTool(tool) : tool;
  const about = { ...call, effectId: createEffectId() };
  const said = await ask(asked, about, { ...options, purpose: 'approval' }).catch(() => '');
  return said === '"allow"' ? 'allow' : 'ask';
};

const prepareEdit = async (
  { spec }: OpenApproval,
  input: Readonly<Record<string, unknown>>,
  options: Reading & { readonly findEntry: FindEntry; readonly findTool: (name: string) => Tool | undefined },
): Promise<Edit> => {
  const tool = options.findTool(spec.tool);
  if (tool === undefined) return { kind: 'invalid', problem: `There is no tool '${spec.tool}' now.` };
  const original = parseObject(spec.arguments);
  const restored = restoreHidden(input, hideSensitive(original, tool), original);
  if (!isRecord(restored)) return { kind: 'invalid', problem: 'The arguments are not an object.' };
  const checking = tool.runsIn === 'service' ? toCheckingTool(tool) : tool;
  const about = { ...spec, input: restored, id: null, effectId: createEffectId() };
  const problem = await ask(checking, about, { ...options, purpose: 'check' }).then(() => null, explainThrown);
  if (problem !== null) return { kind: 'invalid', problem };
  const filled = fillDefaults(tool.inputSchema, restored);
  return { kind: 'valid', input: filled, digest: digestCall({ ...spec, tool, input: filled }, options.findEntry) };
};

const explainThrown = (error: unknown): string => (error instanceof Error ? error.message : String(error));

// What a receiver gets of an id: one may have 16 KiB.
const MAX_CALL_ID = 512;

const announce = async (
  { notify, tenant, requestId, index, id, tool, place }: CallToDecide,
  approval: Approval,
  webhooks: ApprovalParts['webhooks'],
): Promise<void> => {
  if (notify === null) return;
  const data = {
    ...{ request_id: requestId, index, tool: tool.name, approval: approval.id },
    ...(place === null ? {} : { call: handleOfPlace(place) }),
    call_id: typeof id === 'string' ? id.slice(0, MAX_CALL_ID).toWellFormed() : id,
  };
  await webhooks.emit({ tenant, endpoint: notify, type: 'tool_call.approval_requested', data, once: approval.id });
};

/** Of a store that only this process has, after a start: what waits is in no index. */
const takeBack = async ({ shared, keysOf }: StoreBackend, { live }: ApprovalStore): Promise<void> => {
  if (shared !== null) return;
  for (const key of keysOf(approvalKind.name)) await live.enterAgain(entryOf(key), 0);
};

const NO_APPROVALS = APPROVALS.parse(undefined);

const openLive = async ({ shared }: StoreBackend, now: () => number): Promise<DueIndex> => {
  if (shared === null) return createDueIndex({ limits: LIMITS, now });
  const { createRedisApprovalIndex } = await import('@recourse/background/jobs/redis-due-index');
  return createRedisApprovalIndex(shared.client, LIMITS);
};

/** Where callers have no keys nobody is told apart from who approves. */
const warnOfAnonymous = (config: Config, { default: byEffects, rules }: ApprovalSettings, log: Logger): void => {
  const asks = Object.values(byEffects).includes('ask') || rules.some(({ decide }) => decide === 'ask');
  if (!asks || hasKeys(config)) return;
  if (rules.some(({ four_eyes: fourEyes }) => fourEyes))
    throw new Error(
      'approvals: a rule has four_eyes, and no setting names keys: nobody could approve. Set API_KEYS_FILE, API_KEYS or JWT_JWKS_URL.',
    );
  log.warn('callers have no keys: every one of them may approve what the section approvals asks for');
};
