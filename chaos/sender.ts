import type { Accounts } from './accounts.ts';
import type { Client, Exchange, Sending } from './exchange.ts';
import type { Random } from './random.ts';
import type { Replica } from './replica.ts';

/** An exchange with one of the replicas. */
export type Sent = {
  readonly requestId: string;
  readonly exchange: Exchange;
  /** Of `performance.now()`. */
  readonly sentAt: number;
  readonly endedAt: number;
  /** Its replica was killed meanwhile: whatever became of the batch, nobody can tell any more. */
  readonly isReplicaKilled: boolean;
};

export type Sender = {
  /** POST /tool-calls to either replica. Never rejects. */
  readonly send: (sending: Omit<Sending, 'url'>) => Promise<Sent>;
};

type Terms = {
  readonly replicas: readonly Replica[];
  readonly client: Client;
  readonly random: Random;
  readonly accounts: Accounts;
  /** Begins its request ids. */
  readonly prefix?: string;
};

// A connection may be accepted by the system for a process that is ending.
const MARGIN_MS = 100;

/** Gives every request an id of its own, and counts what became of it. */
export const createSender = ({ replicas, client, random, accounts, prefix = 'chaos' }: Terms): Sender => {
  let requests = 0;
  return {
    send: async (sending) => {
      requests += 1;
      const requestId = `${prefix}-${String(requests).padStart(12, '0')}`;
      const replica = random.pick(replicas);
      const sentAt = performance.now();
      const headers = { ...sending.headers, 'x-request-id': requestId };
      const exchange = await client.exchange({ ...sending, url: `${replica.url}/tool-calls`, headers });
      accounts.add('requests');
      accounts.add(exchange.kind === 'answered' ? `status ${exchange.status}` : `no answer: ${toWord(exchange)}`);
      const isReplicaKilled = exchange.kind !== 'answered' && replica.wasKilledSince(sentAt - MARGIN_MS);
      return { requestId, exchange, sentAt, endedAt: performance.now(), isReplicaKilled };
    },
  };
};

const toWord = (exchange: Exclude<Exchange, { kind: 'answered' }>): string =>
  exchange.kind === 'broken' ? `${exchange.reason} after ${exchange.received}` : exchange.kind;
