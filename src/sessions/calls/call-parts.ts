import type { CallLease, PartsWatch } from '../../pending/call-records.ts';
import type { Listening, RedisSubscription } from '../redis-client.ts';

type PartListener = (valueJson: string) => void;

/** Who listens to which call, in this process. */
export class ListenersByCall {
  readonly #calls = new Map<string, Set<PartListener>>();

  get calls(): number {
    return this.#calls.size;
  }

  /** `first`: nobody listened to the call before. */
  add(key: string, listener: PartListener): 'first' | 'further' {
    const known = this.#calls.get(key);
    if (known === undefined) this.#calls.set(key, new Set([listener]));
    else known.add(listener);
    return known === undefined ? 'first' : 'further';
  }

  /** `last`: nobody listens to the call any more. */
  delete(key: string, listener: PartListener): 'last' | 'others' {
    const ofCall = this.#calls.get(key);
    if (ofCall?.delete(listener) !== true || ofCall.size > 0) return 'others';
    this.#calls.delete(key);
    return 'last';
  }

  tell(key: string, valueJson: string): void {
    for (const listener of this.#calls.get(key) ?? []) listener(valueJson);
  }
}

export type CallParts = {
  readonly publish: (lease: CallLease, valueJson: string) => void;
  readonly watch: (key: string, listener: PartListener) => PartsWatch;
};

type CallPartsOptions = {
  readonly subscription: Pick<RedisSubscription, 'subscribe'>;
  /** Rejects when Redis does. */
  readonly publish: (lease: CallLease, valueJson: string) => Promise<unknown>;
};

// As pending-call.lua publishes.
const CHANNEL = 'recourse:parts:';
// What Redis has not taken yet, of all calls of this process. Larger, and the end of a call would wait behind its parts.
const MOST_UNANSWERED_BYTES = 1_048_576;
// Each is a channel that is subscribed to again every five seconds. Readers of further calls get no parts.
const MOST_WATCHED_CALLS = 5000;

/** Parts of calls on a channel each, so that a process hears only of those that somebody watches here. */
export const createCallParts = ({ subscription, publish }: CallPartsOptions): CallParts => {
  const listeners = new ListenersByCall();
  const channels = new Map<string, Listening>();
  let unanswered = 0;
  return {
    publish: (lease, valueJson) => {
      const bytes = Buffer.byteLength(valueJson);
      if (unanswered + bytes > MOST_UNANSWERED_BYTES) return;
      unanswered += bytes;
      const answered = (): void => {
        unanswered -= bytes;
      };
      publish(lease, valueJson).then(answered, answered);
    },
    watch: (key, listener) => {
      if (!channels.has(key) && listeners.calls >= MOST_WATCHED_CALLS) return UNHEARD;
      if (listeners.add(key, listener) === 'first')
        channels.set(
          key,
          subscription.subscribe(CHANNEL + key, (valueJson) => listeners.tell(key, valueJson)),
        );
      const stop = (): void => {
        if (listeners.delete(key, listener) !== 'last') return;
        channels.get(key)?.stop();
        channels.delete(key);
      };
      return { ready: channels.get(key)?.ready ?? Promise.resolve(), stop };
    },
  };
};

const UNHEARD: PartsWatch = { ready: Promise.resolve(), stop: () => undefined };
