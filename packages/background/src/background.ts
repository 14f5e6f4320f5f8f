import type { Config } from 'recourse-server/config/settings/config';
import { openCallRecords } from './open-call-records.ts';
import { type PendingParts, wirePending } from './wire-pending.ts';
import { type WebhookParts, wireWebhooks } from './wire-webhooks.ts';

/** Calls that outlive their requests, and the webhooks that tell of them. */
export const openBackground = async (config: Config, parts: WebhookParts) => {
  const { backend, log, metrics, now } = parts;
  const webhooks = await wireWebhooks(parts);
  return {
    webhooks,
    /** Opens pending calls, as soon as there is what they need: tools, and who may use them. */
    openCalls: async (
      services: Omit<PendingParts, 'records' | 'webhooks' | 'log' | 'metrics' | 'now' | 'time'>,
    ): ReturnType<typeof wirePending> => {
      const records = await openCallRecords(config, { backend, budget: services.budget, now });
      return wirePending(config, { ...services, log, metrics, now, time: backend.records.now, webhooks, records });
    },
  };
};
