import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { RecordDeliveries } from '@recourse/background/deliveries/record-deliveries';
import type { DeliveryStore } from '@recourse/background/webhooks/delivery-store';
import { createEndpointClients } from '@recourse/background/webhooks/endpoint-clients';
import type { EndpointSettings } from '@recourse/background/webhooks/endpoint-settings';
import type { DeliveryReport } from '@recourse/background/webhooks/webhook-observer';
import { createWebhooks, type WebhookEvent, type Webhooks } from '@recourse/background/webhooks/webhooks';
import { roomyMemory } from '@recourse/test-support/roomy-memory.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, vi } from 'vitest';
import { createMemoryRecordStore } from '#src/store/memory-record-store.ts';
import { createIdFactory } from '#src/wiring/create-id.ts';

/** Base64 of 32 bytes, as `recourse webhooks secret` makes them. */
export const NEW_SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=';
export const OLD_SECRET = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDC2FVsBQIhrs=';

export const DEADLINE = { timeout: timeLimit(30_000), interval: 20 };

export type Received = {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly at: number;
};

export type Receiver = { readonly url: string; readonly port: number; readonly received: readonly Received[] };

/** Answers the request that is `count` in its order, the first being 1. */
export type AnswerMessage = (response: ServerResponse, count: number) => void;

export const answerWith =
  (status: number, headers: Readonly<Record<string, string>> = {}): AnswerMessage =>
  (response) =>
    void response.writeHead(status, headers).end();

/** A real HTTP server on loopback that writes down what it gets. Gone with its test. */
export const startReceiver = async (answer: AnswerMessage = answerWith(204)): Promise<Receiver> => {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => void chunks.push(chunk));
    request.on('end', () => {
      const { url: path = '', headers } = request;
      received.push({ path, headers: toTexts(headers), body: Buffer.concat(chunks).toString(), at: Date.now() });
      answer(response, received.length);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  const { port } = toAddress(server.address());
  return { url: `http://127.0.0.1:${port}/hook`, port, received };
};

const toAddress = (address: AddressInfo | string | null): AddressInfo => {
  if (address === null || typeof address === 'string') throw new Error('The receiver has no port.');
  return address;
};

const toTexts = (headers: IncomingHttpHeaders): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));

export const endpointAt = (url: string, more: Partial<EndpointSettings> = {}): EndpointSettings => ({
  url,
  secret: [NEW_SECRET],
  events: ['tool_call.completed'],
  privateAddresses: 'allow',
  ...more,
});

export const completed = (more: Partial<WebhookEvent> = {}): WebhookEvent => ({
  type: 'tool_call.completed',
  tenant: 'acme',
  endpoint: 'ops',
  data: {
    request_id: '01JB0000000000000000000000',
    index: 1,
    call: 'c_0123456789abcdefghijkl',
    call_id: 'call_2',
    tool: 'deploy',
    outcome: 'success',
    executed: 'yes',
    code: null,
  },
  ...more,
});

export type WebhookLab = {
  readonly webhooks: Webhooks;
  readonly reports: readonly DeliveryReport[];
  readonly lost: readonly number[];
  readonly failures: readonly unknown[];
  /** Milliseconds that messages were to wait for their next attempt; they wait a thousandth of it. */
  readonly delays: readonly number[];
};

export type LabOptions = {
  readonly store?: DeliveryStore;
  readonly limitMs?: number;
  readonly leaseMs?: number;
  readonly random?: () => number;
  readonly time?: () => number;
  readonly storeTime?: () => number;
};

/** Webhooks with these endpoints, over real sockets. Closed with its test. */
export const createLab = (
  endpoints: Readonly<Record<string, EndpointSettings>>,
  { store = createMemoryStore(), ...options }: LabOptions = {},
): WebhookLab => {
  const reports: DeliveryReport[] = [];
  const lost: number[] = [];
  const failures: unknown[] = [];
  const delays: number[] = [];
  const webhooks = createWebhooks({
    store: {
      ...store,
      reschedule: (delivery, delayMs) => {
        delays.push(delayMs);
        return store.reschedule(delivery, delayMs / 1000);
      },
    },
    observer: {
      configured: () => undefined,
      attempted: (report) => void reports.push(report),
      waiting: () => undefined,
      failed: (_endpoint, error) => void failures.push(error),
      lost: (count) => void lost.push(count),
    },
    clients: createEndpointClients(),
    createId: createIdFactory(),
    redact: (json) => json,
    time: Date.now,
    storeTime: Date.now,
    random: () => 0,
    ...options,
  });
  webhooks.configure(new Map(Object.entries(endpoints)));
  onTestFinished(webhooks.close);
  return { webhooks, reports, lost, failures, delays };
};

export const createMemoryStore = (now = (): number => performance.now()): DeliveryStore =>
  new RecordDeliveries({ store: createMemoryRecordStore({ memory: roomyMemory(), now }), survives: 'nothing' });

/** What a receiver got, once it is so many messages. */
export const whenReceived = async (receiver: Receiver, count: number) => {
  await vi.waitFor(() => expect(receiver.received.length).toBeGreaterThanOrEqual(count), DEADLINE);
  return receiver.received;
};
