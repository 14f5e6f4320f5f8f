import type { Config } from 'recourse-server/config/settings/config';
import { openCallRecords } from './open-call-records.ts';
import { type PendingParts, type WiredPending, wirePending } from './wire-pending.ts';
import { type WebhookParts, type WiredWebhooks, wireWebhooks } from './wire-webhooks.ts';

export type Background = {
  readonly webhooks: WiredWebhooks;
  /** Opens pending calls, as soon as there is what they need. */
  readonly openCalls: (services: CallServices) => Promise<WiredPending>;
};

/** What there is after webhooks: tools, and who may use them. */
export type CallServices = Omit<PendingParts, 'records' | 'webhooks' | 'log' | 'metrics' | 'now' | 'time'>;

/** Calls that outlive their requests, and the webhooks that tell of them. */
export const openBackground = async (config: Config, parts: WebhookParts): Promise<Background> => {
  const { backend, log, metrics, now } = parts;
  const webhooks = await wireWebhooks(parts);
  return {
    webhooks,
    openCalls: async (services) => {
      const records = await openCallRecords(config, { backend, budget: services.budget, now });
      return wirePending(config, { ...services, log, metrics, now, time: backend.records.now, webhooks, records });
    },
  };
};
