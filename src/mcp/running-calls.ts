/** How a client may name a call that it has sent: by its session and the id of its JSON-RPC request. */
export type CallName = { readonly sessionKey: string; readonly requestId: string | number };

/** The calls that `notifications/cancelled` of another request may end: those of a session that run in this process. */
export type RunningCalls = {
  /** Takes a call in; gives the way to take it out again. */
  readonly add: (name: CallName, end: () => void) => () => void;
  /** Ends the call of that name; nothing where none runs here. */
  readonly cancel: (name: CallName) => void;
  readonly size: () => number;
};

/** Holds nothing of a call that has ended. */
export const createRunningCalls = (): RunningCalls => {
  const running = new Map<string, () => void>();
  return {
    add: (name, end) => {
      const key = toKey(name);
      // Ids are unique in a session; where a client does not keep to that, it can cancel the last one.
      running.set(key, end);
      return () => {
        if (running.get(key) === end) running.delete(key);
      };
    },
    cancel: (name) => running.get(toKey(name))?.(),
    size: () => running.size,
  };
};

// JSON tells the text "1" from the number 1.
const toKey = ({ sessionKey, requestId }: CallName): string => JSON.stringify([sessionKey, requestId]);
