import { randomUUID } from 'node:crypto';
import type { Delivery } from '#src/webhooks/delivery-store.ts';

export const createDelivery = (endpoint = `e-${randomUUID()}`): Delivery => ({
  id: `msg_${randomUUID()}`,
  endpoint,
  tenant: 'acme',
  body: '{"type":"tool_call.completed","text":"Ünï\\n✓"}',
  since: 1_764_000_000_123,
});

export const LEASE_MS = 30_000;
