import type { Warning } from '../contract/tool-result.ts';

/** Whoever waits for the answer. */
export type Client = {
  readonly isGone: () => boolean;
  /** Subscribes to its going away; gives the way to unsubscribe. */
  readonly whenGone: (listener: () => void) => () => void;
};

/** An accepted batch, from whoever accepted it. Times in milliseconds. */
export type Batch = {
  readonly requestId: string;
  /** Unique to this batch; the request id may be the caller's and come twice. */
  readonly batchId: string;
  readonly tenant: string;
  /** Between whom the slots of the service are shared: the tenant, or the address of whoever is anonymous. */
  readonly caller: string;
  readonly mayUse: (tool: string) => boolean;
  /** Opaque key of tenant and session; null without a session. */
  readonly sessionKey: string | null;
  readonly roundId: string | null;
  readonly calls: readonly unknown[];
  /** The text the calls were parsed from. */
  readonly source: string;
  readonly order: 'parallel' | 'sequential';
  readonly onError: 'continue' | 'stop';
  readonly deadlineMs: number;
  readonly client: Client;
  /** Said on every result of the batch. */
  readonly notices: readonly Warning[];
};
