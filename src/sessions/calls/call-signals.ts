import type { CallListener, PartsWatch } from '../../pending/call-records.ts';
import { KEY_PREFIX } from '../../store/key-prefix.ts';
import type { Listening, RedisClient, RedisSubscription } from '../redis-client.ts';

type PartListener = (valueJson: string) => void;

/** Tells of what happens to calls, after it has been kept. Best effort: who waits reads again once a second. */
export type CallSignals = {
  readonly publish: (key: string) => void;
  readonly watch: (listener: CallListener) => () => void;
  /** Tells a part, once it is known that the call is held. Parts of a call stay in their order. */
  readonly publishPart: (key: string, valueJson: string, isHeld: () => boolean | Promise<boolean>) => void;
  readonly watchParts: (key: string, listener: PartListener) => PartsWatch;
};

/** Who listens to which call, in this process. */
class ListenersByCall {
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

const ignore = (): void => undefined;

/** Between the parts of one process. */
export const createLocalSignals = (): CallSignals => {
  const listeners = new Set<CallListener>();
  const parts = new ListenersByCall();
  return {
    publish: (key) => {
      for (const listener of listeners) listener(key);
    },
    watch: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    publishPart: (key, valueJson, isHeld) =>
      void Promise.resolve(isHeld()).then((held) => held && parts.tell(key, valueJson), ignore),
    watchParts: (key, listener) => {
      parts.add(key, listener);
      return { ready: Promise.resolve(), stop: () => void parts.delete(key, listener) };
    },
  };
};

const CHANNEL = `${KEY_PREFIX}:pending`;
const PARTS = `${KEY_PREFIX}:parts:`;
// What Redis has not taken yet, of all calls of this process. Larger, and the end of a call would wait behind its parts.
const MOST_UNANSWERED_BYTES = 1_048_576;
// Each is a channel that is subscribed to again every five seconds. Readers of further calls get no parts.
const MOST_WATCHED_CALLS = 5000;

type RedisSignalsOptions = {
  readonly client: Pick<RedisClient, 'publish'>;
  /** Asked for nothing before the first `watch`. */
  readonly subscription: Pick<RedisSubscription, 'subscribe'>;
};

/** Between processes. Parts have a channel for each call, so that a process hears only of those that somebody watches here. */
export const createRedisSignals = ({ client, subscription }: RedisSignalsOptions): CallSignals => {
  const listeners = new Set<CallListener>();
  let isSubscribed = false;
  // A user of Redis may lack the right to publish.
  const publish = (channel: string, message: string): Promise<unknown> =>
    client.publish(channel, message).then(ignore, ignore);
  let unanswered = 0;
  return {
    publish: (key) => void publish(CHANNEL, key),
    watch: (listener) => {
      listeners.add(listener);
      if (!isSubscribed) {
        isSubscribed = true;
        subscription.subscribe(CHANNEL, (key) => {
          for (const each of listeners) each(key);
        });
      }
      return () => void listeners.delete(listener);
    },
    publishPart: (key, valueJson, isHeld) => {
      const bytes = Buffer.byteLength(valueJson);
      if (unanswered + bytes > MOST_UNANSWERED_BYTES) return;
      unanswered += bytes;
      const answered = (): void => {
        unanswered -= bytes;
      };
      Promise.resolve(isHeld())
        .then((held) => (held ? publish(PARTS + key, valueJson) : undefined))
        .then(answered, answered);
    },
    watchParts: createWatchParts(subscription),
  };
};

const createWatchParts = (subscription: Pick<RedisSubscription, 'subscribe'>): CallSignals['watchParts'] => {
  const listeners = new ListenersByCall();
  const channels = new Map<string, Listening>();
  return (key, listener) => {
    if (!channels.has(key) && listeners.calls >= MOST_WATCHED_CALLS) return UNHEARD;
    if (listeners.add(key, listener) === 'first')
      channels.set(
        key,
        subscription.subscribe(PARTS + key, (valueJson) => listeners.tell(key, valueJson)),
      );
    const stop = (): void => {
      if (listeners.delete(key, listener) !== 'last') return;
      channels.get(key)?.stop();
      channels.delete(key);
    };
    return { ready: channels.get(key)?.ready ?? Promise.resolve(), stop };
  };
};

const UNHEARD: PartsWatch = { ready: Promise.resolve(), stop: () => undefined };
