import { createDueIndex, type DueIndex } from '@recourse/background/jobs/due-index';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import type { Config } from 'recourse-server/config/settings/config';
import { readDuration } from 'recourse-server/contract/duration';
import type { CallOutcome } from 'recourse-server/executor/call-outcome';
import type { Redactor } from 'recourse-server/executor/redactor';
import type { RouteHost } from 'recourse-server/routes/route-host';
import type { StoreBackend } from 'recourse-server/sessions/store-backend';
import { describeCauses } from 'recourse-server/telemetry/describe-error';
import type { Metrics } from 'recourse-server/telemetry/metrics';
import type { ToolRegistry } from 'recourse-server/tools/registry';
import { type ApplyOptions, createApply } from './apply-verdict.ts';
import type { AuditLog } from './audit/audit.ts';
import type { DecisionEvent, VerdictEvent } from './audit/audit-event.ts';
import { readEnd } from './audit/read-end.ts';
import { type ChecksOptions, createChecks } from './checks.ts';
import { createEffectMetrics } from './effect-metrics.ts';
import { type Effect, type EffectSpec, effectKind, type StoredEffect } from './effects/effect-kind.ts';
import { EffectStore, entryOf } from './effects/effect-store.ts';
import { Looker } from './looker.ts';
import { createReconciler } from './reconciler.ts';
import { createSweep } from './sweep.ts';
import { addUnknownRoutes, listUnknown, type UnknownRoutesOptions } from './unknown-routes.ts';

export type ReconcilingParts = Pick<ApplyOptions, 'settlePending' | 'sessions' | 'webhooks' | 'time' | 'settleGrant'> &
  Pick<UnknownRoutesOptions, 'findPending'> &
  Omit<ChecksOptions, 'maxResultBytes'> & {
    readonly backend: StoreBackend;
    readonly keys: ApplyOptions['keys'] & UnknownRoutesOptions['keys'];
    readonly registry: ToolRegistry;
    readonly redactor: Redactor;
    readonly log: Logger;
    readonly metrics: Metrics;
    readonly audit: Pick<AuditLog, 'settled' | 'contradicted' | 'decided'>;
  };

// Further ones are looked for when they are repeated.
const LIMITS = { ofHolder: 100_000, ofAll: 100_000 } as const;

/** Finds out how writes ended of which nobody knows: beside their batches, afterwards, and when a person says so. */
export const openReconciling = async (config: Config, parts: ReconcilingParts) => {
  const { backend, registry, log, metrics, redactor, now, time, audit } = parts;
  const counted = createEffectMetrics(metrics);
  const effects = new EffectStore({
    ...{ store: backend.records, sealing: backend.sealing, live: await openLive(backend, now) },
  });
  const onFailed = (error: unknown): void => {
    log.warn({ causes: describeCauses(error) }, 'step on an effect failed');
  };
  const findCheck = createChecks({ ...parts, maxResultBytes: config.MAX_RESULT_BYTES });
  const looker = new Looker({
    ...{ delays: config.RECONCILE_DELAYS.map(readDuration), redactor, looked: counted.looked },
    onProblem: ({ tool, effectId, problem }) =>
      log.warn(
        { tool, effect_id: effectId, problem: redactor.cut(problem, MAX_PROBLEM, 'log') },
        'reconcile failed: it counts as unclear',
      ),
  });
  const apply = createApply({
    ...{ ...parts, effects },
    onApplied: (spec, effect, outcome) => {
      const { tool, effectId, requestId } = spec;
      const { end, attempts } = effect;
      log.info(
        { tool, effect_id: effectId, request_id: requestId, verdict: end?.verdict, by: end?.by, attempts },
        'unknown outcome settled',
      );
      audit.settled(describeVerdict(spec, effect, outcome));
    },
  });
  const reconciler = createReconciler({
    ...{ effects, looker, findCheck, now, time, onFailed, apply },
    onContradiction: ({ tool, effectId, tenant }) => {
      looker.distrust(tool);
      counted.contradicted(tool);
      audit.contradicted({ tenant, tool, effect_id: effectId });
      log.error({ tool, effect_id: effectId, tenant }, 'a write ended otherwise than its reconcile had said');
    },
  });
  const isCovered = (): boolean => registry.list().some(({ name }) => findCheck(name) !== null);
  const sweep = createSweep({
    ...{ effects, looker, findCheck, apply, onFailed, isCovered, time, sampled: counted.sampled },
  });
  await takeBack(backend, effects);
  return {
    reconciler,
    /** Writes of a tenant whose outcome is unknown. Rejects with the store. */
    listUnknown: async (tenant: string) => {
      const some = Array.fromAsync(listUnknown(tenant, effects), (found) =>
        found.map(({ spec: { tool, holder } }) => ({ tool, holder })),
      );
      return (await some).flat();
    },
    addRoutes: (app: FastifyInstance, host: RouteHost): void =>
      addUnknownRoutes(app, host, {
        ...{ ...parts, effects, apply, look: sweep.look, findTool: registry.find },
        onDecided: ({ spec, by, verdict, reason, result }) => {
          const { effectId, tool } = spec;
          log.info({ effect_id: effectId, tool, by, verdict, reason, result }, 'verdict by hand');
          audit.decided(describeHand(spec, { by, verdict, reason, result }));
        },
      }),
    start: (): void => sweep.start(),
    close: (): void => {
      sweep.close();
      reconciler.close();
    },
  };
};

const describeVerdict = (spec: EffectSpec, { end, attempts }: Effect, outcome: CallOutcome): VerdictEvent => {
  const { tenant, tool, effectId, sessionKey, requestId, index } = spec;
  const place = { session: sessionKey, request_id: requestId, index };
  return { tenant, tool, effect_id: effectId, ...place, by: end?.by ?? 'run', ...readEnd(outcome), attempts };
};

type Hand = Omit<Parameters<UnknownRoutesOptions['onDecided']>[0], 'spec'>;

const describeHand = (spec: EffectSpec, { by, verdict, reason, result }: Hand): DecisionEvent => {
  const { tenant, tool, effectId, sessionKey, requestId, index } = spec;
  const place = { session: sessionKey, request_id: requestId, index };
  const said = { of: 'verdict', decision: verdict, approval: null, accepted: result === 'settled', reason } as const;
  return { tenant, tool, effect_id: effectId, by, ...place, ...said };
};

const MAX_PROBLEM = 500;

const openLive = async ({ shared }: StoreBackend, now: () => number): Promise<DueIndex> => {
  if (shared === null) return createDueIndex({ limits: LIMITS, now });
  const { createRedisEffectIndex } = await import('@recourse/background/jobs/redis-due-index');
  return createRedisEffectIndex(shared.client, LIMITS);
};

/** Of a store that only this process has: the process before it has ended, and so have its runs. */
const takeBack = async ({ records, shared, keysOf }: StoreBackend, { live }: EffectStore): Promise<void> => {
  if (shared !== null) return;
  const stored = records.open(effectKind);
  const endRun = ({ effect }: StoredEffect, now: number): void => {
    if (effect === null || effect.leaseEndsAt === 0) return;
    Object.assign(effect, { leaseEndsAt: effect.state === 'running' ? now : 0, actsUntil: now });
  };
  for (const key of keysOf(effectKind.name)) {
    await stored.update(key, endRun, 'long');
    await live.enterAgain(entryOf(key), 0);
  }
};
