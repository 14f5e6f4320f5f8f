import type { Client } from '@modelcontextprotocol/client';
import { ProtocolError } from '@modelcontextprotocol/client';
import type { McpTiming } from './mcp-timing.ts';

export type HealthOptions = {
  readonly timing: McpTiming;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly onDead: (client: Client, why: string) => void;
};

export type Health = {
  readonly watch: (client: Client) => void;
  readonly stop: () => void;
  readonly callStarted: () => void;
  readonly callEnded: (answered: 'answered' | 'unanswered') => void;
  /** Asks now, where something looks wrong. */
  readonly check: () => void;
};

/**
 * Tells a server that hangs from one that is slow: a call that takes too long says nothing of it, a ping that is not
 * answered does. Asks while no call runs, for many servers do one thing at a time; and, however busy, after a long silence.
 */
export const createHealth = ({ timing, now, onDead }: HealthOptions): Health => {
  let watched: Client | null = null;
  let timer: NodeJS.Timeout | undefined;
  let running = 0;
  let heardAt = 0;
  let isAsking = false;
  const ask = async (client: Client): Promise<void> => {
    isAsking = true;
    const verdict = await ping(client, timing.pingWithinMs);
    isAsking = false;
    if (watched !== client) return;
    if (verdict === null) heardAt = now();
    else onDead(client, verdict);
  };
  const check = (): void => {
    if (watched !== null && !isAsking) void ask(watched);
  };
  const tick = (): void => {
    const silentForMs = now() - heardAt;
    if (running === 0 || silentForMs > timing.silentMs) check();
  };
  const stop = (): void => {
    watched = null;
    clearInterval(timer);
  };
  return {
    watch: (client) => {
      stop();
      watched = client;
      heardAt = now();
      timer = setInterval(tick, timing.pingEveryMs);
    },
    stop,
    check,
    callStarted: () => {
      running += 1;
    },
    callEnded: (answered) => {
      running -= 1;
      if (answered === 'answered') heardAt = now();
    },
  };
};

/** Null where the server has answered, with an error too; else what is wrong, one clause for people. */
const ping = (client: Client, withinMs: number): Promise<string | null> => {
  const asked =
    client.getProtocolEra() === 'modern' ? client.discover({ timeout: withinMs }) : client.ping({ timeout: withinMs });
  return asked.then(
    () => null,
    (error: unknown) => (error instanceof ProtocolError ? null : 'it did not answer a ping'),
  );
};
