import type { Transport } from '@modelcontextprotocol/client';

/** A way to one server, and what the SDK's own transports do not tell. */
export type ServerTransport = {
  readonly transport: Transport;
  /** Why it ended, one clause for people; null while nobody knows of an end. */
  readonly reason: () => string | null;
  /** Ends it where it cannot be used any more: what waits for an answer hears that the connection is gone. */
  readonly breakOff: (why: string) => void;
  /** Ends what it started, without waiting for it. */
  readonly kill: () => void;
};
