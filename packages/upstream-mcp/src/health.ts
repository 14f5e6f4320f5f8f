import { type Client, ProtocolError } from '@modelcontextprotocol/client';
import type { McpTiming } from './connection.ts';

/**
 * Tells a server that hangs from one that is slow: a call that takes too long says nothing of it, a ping that is not
 * answered does. Asks while no call runs, for many servers do one thing at a time; and, however busy, after a long silence.
 */
export class Health {
  readonly #timing: McpTiming;
  readonly #onDead: (client: Client, why: string) => void;
  #watched: Client | null = null;
  #timer: NodeJS.Timeout | undefined;
  #calls = 0;
  #answeredAt = 0;
  #isAsking = false;

  constructor(timing: McpTiming, onDead: (client: Client, why: string) => void) {
    this.#timing = timing;
    this.#onDead = onDead;
  }

  watch(client: Client): void {
    this.stop();
    this.#watched = client;
    this.#answeredAt = Date.now();
    this.#timer = setInterval(() => {
      if (this.#calls === 0 || Date.now() - this.#answeredAt > this.#timing.silentMs) this.check();
    }, this.#timing.pingEveryMs);
  }

  stop(): void {
    this.#watched = null;
    clearInterval(this.#timer);
  }

  callStarted(): void {
    this.#calls += 1;
  }

  callEnded(isAnswered: boolean): void {
    this.#calls -= 1;
    if (isAnswered) this.#answeredAt = Date.now();
  }

  /** Asks now, where something looks wrong. */
  check(): void {
    if (this.#watched !== null && !this.#isAsking) void this.#ask(this.#watched);
  }

  async #ask(client: Client): Promise<void> {
    this.#isAsking = true;
    const timeout = { timeout: this.#timing.pingWithinMs };
    const answer = client.getProtocolEra() === 'modern' ? client.discover(timeout) : client.ping(timeout);
    // An error is an answer, too.
    const isAlive = await answer.then(
      () => true,
      (error: unknown) => error instanceof ProtocolError,
    );
    this.#isAsking = false;
    if (this.#watched !== client) return;
    if (isAlive) this.#answeredAt = Date.now();
    else this.#onDead(client, 'it did not answer a ping');
  }
}
