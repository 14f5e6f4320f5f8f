import { KEY_PREFIX, type SharedChannels, type SharedClient } from 'recourse-server/store/shared-connection';

/** Is called when something has happened to a call: it ended, its progress or its cancellation changed. */
export type CallListener = (key: string) => void;

/** A subscription to the parts of one call. `ready` resolves when they arrive, also where they never will; it never rejects. */
export type PartsWatch = ReturnType<SharedChannels['subscribe']>;

/** Tells of what happens to calls, after it has been kept. Best effort: who waits reads again once a second. */
export type CallSignals = {
  readonly publish: (key: string) => void;
  readonly watch: (listener: CallListener) => () => void;
  /** Tells a part, once it is known that the call is held. Parts of a call stay in their order. */
  readonly publishPart: (key: string, valueJson: string, isHeld: () => Promise<boolean>) => void;
  readonly watchParts: (key: string, listener: (valueJson: string) => void) => PartsWatch;
};

/** What carries messages. `subscribe` is asked for nothing before the first `watch`; a channel has one listener. */
type Carrier = SharedChannels & {
  readonly publish: (channel: string, message: string) => unknown;
  readonly mostUnansweredBytes: number;
  readonly mostChannels: number;
};

/** Between the parts of one process. */
export const createLocalSignals = (): CallSignals => {
  const channels = new Map<string, CallListener>();
  return createSignals({
    publish: (channel, message) => channels.get(channel)?.(message),
    subscribe: (channel, listener) => {
      channels.set(channel, listener);
      return { ready: Promise.resolve(), stop: () => void channels.delete(channel) };
    },
    mostUnansweredBytes: Number.POSITIVE_INFINITY,
    mostChannels: Number.POSITIVE_INFINITY,
  });
};

/** Between processes. */
export const createRedisSignals = ({
  client,
  subscription,
}: {
  readonly client: Pick<SharedClient, 'publish'>;
  readonly subscription: SharedChannels;
}): CallSignals =>
  createSignals({
    // A user of Redis may lack the right to publish.
    publish: (channel, message) => client.publish(channel, message).then(ignore, ignore),
    subscribe: subscription.subscribe,
    // What Redis has not taken yet, of all calls of this process. Larger, and the end of a call would wait behind its parts.
    mostUnansweredBytes: 1_048_576,
    // Each is subscribed to again every five seconds. Readers of further calls get no parts.
    mostChannels: 5000,
  });

const CHANNEL = `${KEY_PREFIX}:pending`;
const PARTS = `${KEY_PREFIX}:parts:`;

/** Parts have a channel for each call, so that a process hears only of those that somebody watches here. */
const createSignals = (carrier: Carrier): CallSignals => {
  const hear = createHear(carrier);
  let isHearing = false;
  let unanswered = 0;
  return {
    publish: (key) => void carrier.publish(CHANNEL, key),
    watch: (listener) => {
      // For good, once somebody has: a message would be missed while the channel is left and joined again.
      if (!isHearing) hear(CHANNEL, ignore);
      isHearing = true;
      return hear(CHANNEL, listener).stop;
    },
    publishPart: (key, valueJson, isHeld) => {
      const bytes = Buffer.byteLength(valueJson);
      if (unanswered + bytes > carrier.mostUnansweredBytes) return;
      unanswered += bytes;
      const answered = (): void => {
        unanswered -= bytes;
      };
      isHeld()
        .then((held) => (held ? carrier.publish(PARTS + key, valueJson) : undefined))
        .then(answered, answered);
    },
    watchParts: (key, listener) => hear(PARTS + key, listener),
  };
};

/** Any number of listeners of a channel. */
const createHear = ({ subscribe, mostChannels }: Carrier): Carrier['subscribe'] => {
  const channels = new Map<string, { readonly listeners: Set<CallListener>; readonly listening: PartsWatch }>();
  const open = (channel: string) => {
    const listeners = new Set<CallListener>();
    const listening = subscribe(channel, (message) => {
      for (const listener of listeners) listener(message);
    });
    return { listeners, listening };
  };
  return (name, listener) => {
    if (!channels.has(name) && channels.size >= mostChannels) return UNHEARD;
    const channel = channels.get(name) ?? open(name);
    channels.set(name, channel);
    channel.listeners.add(listener);
    const stop = (): void => {
      if (!channel.listeners.delete(listener) || channel.listeners.size > 0) return;
      channels.delete(name);
      channel.listening.stop();
    };
    return { ready: channel.listening.ready, stop };
  };
};

const ignore = (): void => undefined;

const UNHEARD: PartsWatch = { ready: Promise.resolve(), stop: ignore };
