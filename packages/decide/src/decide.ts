import type { ConfigContent } from 'recourse-server/config/file/load-config-file';
import type { FirstConfigFile } from 'recourse-server/config/file/read-config-file';
import { readAuditChoice } from 'recourse-server/config/settings/audit-choice';
import type { Config } from 'recourse-server/config/settings/config';
import type { AddedRoutes } from 'recourse-server/routes/route-host';
import type { AuditLog, AuditParts } from './audit/audit.ts';
import { type ApprovalParts, openApprovals } from './open-approvals.ts';
import { openReconciling, type ReconcilingParts } from './open-reconciling.ts';
import { createPolicies } from './policies/policies.ts';
import { toolDigestOf } from './policies/tool-digest.ts';
import { openRules } from './rules/open-rules.ts';

export type DecideParts = Omit<ReconcilingParts, 'audit' | 'settleGrant'> &
  Pick<ApprovalParts, 'releasePending'> & {
    /** As it was at the start; null where there is none. */
    readonly configFile: FirstConfigFile | null;
    readonly writeOut: AuditParts['writeOut'];
  };

/** What is decided of calls before they run, what is found out of them afterwards, and what is written down of both. */
export const openDecide = async (config: Config, parts: DecideParts) => {
  const audit = await openAudit(config, { ...parts, digestOf: toolDigestOf });
  const rules = openRules(parts.configFile?.content.rules ?? [], parts);
  const approvals = await openApprovals(config, { ...parts, audit });
  const reconciling = await openReconciling(config, { ...parts, audit, settleGrant: rules.settle });
  const addRoutes: AddedRoutes['addRoutes'] = (app, host) => {
    for (const part of [rules, approvals, reconciling]) part.addRoutes(app, host);
  };
  return {
    reconciler: reconciling.reconciler,
    policies: createPolicies(rules.book, approvals.book),
    audit,
    rulesOf: rules.viewSession,
    /** Takes what a later version of the configuration file says. */
    apply: (content: ConfigContent): void => {
      rules.apply(content.rules);
      approvals.apply(content);
    },
    /** What of a tenant waits for a look, or for a person. */
    waiting: { unknown: reconciling.listUnknown, approvals: approvals.listWaiting },
    added: { addRoutes } satisfies AddedRoutes,
    /** Looks for what was left, from now on. */
    start: (): void => {
      reconciling.start();
      approvals.start();
    },
    close: (): void => {
      approvals.close();
      reconciling.close();
    },
  };
};

const openAudit = async (config: Config, parts: AuditParts): Promise<AuditLog> => {
  const choice = readAuditChoice(config);
  if (choice.kind === 'off') return NO_AUDIT;
  const audit = await import('./audit/audit.ts');
  return audit.openAudit(config, choice, parts);
};

const ignore = (): void => undefined;
const NO_AUDIT: AuditLog = {
  calls: null,
  decided: ignore,
  settled: ignore,
  contradicted: ignore,
  circuitClosed: ignore,
  close: async () => undefined,
};
