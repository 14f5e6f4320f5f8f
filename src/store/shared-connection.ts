/** What every key and channel in Redis begins with. Version 0.1 had `recourse`: neither reads the records of the other. */
export const KEY_PREFIX = 'recourse2';

/** What processes that share a store may send to it beside records. In a cluster each command goes to who serves its keys. */
export type SharedClient = {
  /** Sends one command. Rejects with the store, or after a second: such a command may have been applied. */
  readonly callWithTimeout: (command: string, ...parameters: string[]) => Promise<unknown>;
  /** A script of a file: gets the number of its keys, the keys, and parameters. As patient. */
  readonly openScript: (file: URL) => (words: readonly string[]) => Promise<unknown>;
  /** Sends a message to all processes; as patient. Those of a channel stay in their order. */
  readonly publish: (channel: string, message: string) => Promise<unknown>;
};

/** Messages of other processes. Best effort: what is published while a connection is away is lost. */
export type SharedChannels = {
  /** The last listener of a channel replaces the others. `ready` resolves when its messages arrive, or after `stop`. */
  readonly subscribe: (
    channel: string,
    listener: (message: string) => void,
  ) => { readonly ready: Promise<void>; readonly stop: () => void };
};
