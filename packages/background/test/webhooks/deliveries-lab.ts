import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { ClaimedDelivery, Delivery } from '#src/webhooks/delivery-store.ts';

export const createDelivery = (endpoint = `e-${randomUUID()}`): Delivery => ({
  id: `msg_${randomUUID()}`,
  endpoint,
  tenant: 'acme',
  body: '{"type":"tool_call.completed","text":"Ünï\\n✓"}',
  since: 1_764_000_000_123,
});

export const LEASE_MS = 30_000;

/** The delivery as a claim gives it, wherever its store has it. */
export const toClaimed = (delivery: Delivery, attempt: number) => ({ ...delivery, attempt, queue: expect.any(String) });

/** The one delivery of a claim. */
export const toOnly = ({ deliveries }: { readonly deliveries: readonly ClaimedDelivery[] }): ClaimedDelivery => {
  const [claimed, another] = deliveries;
  if (claimed === undefined || another !== undefined) throw new Error(`${deliveries.length} were claimed.`);
  return claimed;
};
