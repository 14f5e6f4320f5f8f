import type { RouteHost } from 'recourse-server/extension';

/** A stream that reports changes of the tools that its caller may use. */
export type ToolListener = {
  /** Between whom the places of listeners are shared. */
  readonly caller: string;
  /** Stands for what `tools/list` shows it now: another text where it shows something else. */
  readonly tagOf: () => string;
  readonly notify: () => void;
};

// A stream that waits takes some 20 KB; the places of all are those of the SDK's own default.
const MOST_LISTENERS = 1024;
const MOST_OF_A_CALLER = 128;

// A tools directory is read file by file, and upstreams come one after the other: one notification is for all of them.
const SETTLE_MS = 100;

/**
 * Notifies each listener once when what it may use has changed. Tools that are offered again as they were, and tools of others, are
 * no change. Without listeners nothing is watched, and nothing compared.
 */
export const createToolChanges = (watch: RouteHost['watchTools']) => {
  const listeners = new Map<ToolListener, string>();
  let unwatch: (() => void) | null = null;
  let timer: NodeJS.Timeout | null = null;
  const compare = (): void => {
    timer = null;
    for (const [listener, before] of listeners) {
      const now = listener.tagOf();
      listeners.set(listener, now);
      if (now !== before) listener.notify();
    }
  };
  const onOffer = (): void => {
    timer ??= setTimeout(compare, SETTLE_MS).unref();
  };
  const stopWatching = (): void => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    unwatch?.();
    unwatch = null;
  };
  return {
    /** Whether one more of this caller may listen. */
    hasRoom: (caller: string): boolean => {
      if (listeners.size >= MOST_LISTENERS) return false;
      let own = 0;
      for (const listener of listeners.keys()) if (listener.caller === caller) own += 1;
      return own < MOST_OF_A_CALLER;
    },
    /** Adds a listener; gives the way to remove it. */
    add: (listener: ToolListener): (() => void) => {
      listeners.set(listener, listener.tagOf());
      unwatch ??= watch(onOffer);
      return () => {
        listeners.delete(listener);
        if (listeners.size === 0) stopWatching();
      };
    },
    size: (): number => listeners.size,
  };
};
