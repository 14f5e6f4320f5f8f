import type { MayKeep } from '../../executor/store-observer.ts';
import type { Claim, ClaimedDelivery, Delivery, DeliveryStore } from '../../webhooks/delivery-store.ts';
import { createRedisScript, type RedisClient } from '../redis-client.ts';

// An endpoint that is down for a day: 30 MB of messages of 600 bytes. A fifth of them is a tenant's: one that has many calls
// takes no message from others.
const MOST_WAITING = { endpoint: 50_000, tenant: 10_000 } as const;
// Longer than a message is tried. Keys of an endpoint that no configuration names any more end by themselves.
const TTL_MS = 25 * 3_600_000;

/**
 * Messages in Redis, shared by all replicas: of each endpoint a sorted set by the time they are due, and a hash. What is
 * kept here survives restarts of the service. Rejects where Redis does.
 */
export const createRedisDeliveries = (
  client: Pick<RedisClient, 'call' | 'callPatiently'>,
  mostWaiting: Readonly<Record<keyof typeof MOST_WAITING, number>> = MOST_WAITING,
  mayKeep: MayKeep = () => true,
): DeliveryStore => {
  const folder = new URL('../lua/', import.meta.url);
  const files = ['fields.lua', 'deliveries.lua'];
  // A batch may wait while an event is kept; all else is done behind its back.
  const runNow = createRedisScript(client, folder, files);
  const run = createRedisScript({ call: client.callPatiently }, folder, files);
  return {
    add: async (delivery) => {
      if (!mayKeep('deliveries')) return 'no_room';
      const most = [String(mostWaiting.endpoint), String(mostWaiting.tenant)];
      const { id, endpoint, repeats } = delivery;
      const words = ['add', id, toMessage(delivery), String(TTL_MS), ...most, repeats === 'never' ? '1' : ''];
      return (await runNow([...toKeys(endpoint), toOnceKey(endpoint, id)], words)) === 1 ? 'kept' : 'full';
    },
    claim: async (endpoint, most, leaseMs) =>
      readClaim(endpoint, await run(toKeys(endpoint), ['claim', String(most), String(leaseMs)])),
    reschedule: async ({ endpoint, id, attempt }, delayMs) =>
      void (await run(toKeys(endpoint), ['reschedule', id, String(attempt), String(delayMs)])),
    remove: async ({ endpoint, id }) => void (await run(toKeys(endpoint), ['remove', id])),
    disable: async (endpoint, version) => void (await client.callPatiently('SET', toKeys(endpoint)[2], version)),
    close: async () => 0,
  };
};

type Keys = readonly [due: string, kept: string, disabled: string];

// The hash tag is the endpoint's: one endpoint is one cluster slot. No tenant has a slash in its name.
const toKeys = (endpoint: string): Keys => {
  const key = toSlot(endpoint);
  return [`${key}:due`, `${key}:kept`, `${key}:disabled`];
};

const toSlot = (endpoint: string): string => `recourse:{webhooks/${endpoint}}`;

const toOnceKey = (endpoint: string, id: string): string => `${toSlot(endpoint)}:once:${id}`;

// Neither a number nor a tenant holds a line end, and the body is the rest.
const toMessage = ({ since, tenant, body }: Delivery): string => `${since}\n${tenant}\n${body}`;

const MESSAGE = /^(\d{1,15})\n([^\n]*)\n([\s\S]*)$/;

const readClaim = (endpoint: string, answer: unknown): Claim => {
  const [nextMs, waiting, disabled, ...words] = Array.isArray(answer) ? answer.map(String) : [];
  if (nextMs === undefined || waiting === undefined) throw new Error('Redis answered a claim with something else.');
  const deliveries: ClaimedDelivery[] = [];
  for (let place = 0; place < words.length; place += 3) {
    const [id = '', attempt = '', message = ''] = words.slice(place, place + 3);
    const [, since = '', tenant = '', body = ''] = MESSAGE.exec(message) ?? [];
    deliveries.push({ id, endpoint, tenant, body, since: Number(since), attempt: Number(attempt) });
  }
  return {
    deliveries,
    nextMs: nextMs === '-1' ? null : Number(nextMs),
    waiting: Number(waiting),
    disabled: disabled === '' || disabled === undefined ? null : disabled,
  };
};
