/**
 * What the service can learn of the processes of its tool hosts, and of what those started. Chosen once, by what the
 * system offers (find-process-table.ts): /proc, else `ps`, else nothing but process groups.
 */
export type ProcessTable = {
  readonly source: 'proc' | 'ps' | 'none';
  /** Everything below this process, wherever it has gone, as far as the system tells. */
  readonly findDescendants: (pid: number) => readonly number[];
  /** Memory of a process that is in RAM, what it maps included, in bytes; 0 where that is not known. */
  readonly residentBytes: (pid: number) => number;
  /** How long a process has waited for a processor since it started, in milliseconds; null where the system does not tell. */
  readonly waitedMs: (pid: number) => number | null;
  /** Begins to guard the hosts of one service, whose marks all begin with `service`. */
  readonly guardHosts: (service: string) => HostGuard;
};

/** What a host is known by: its process, and its mark, which all that it starts has in its environment. */
export type GuardedHost = { readonly pid: number; readonly mark: string };

/** Sees to it that hosts leave no process behind: neither when they end nor when the service does, however it ends. */
export type HostGuard = {
  readonly add: (host: GuardedHost) => void;
  /** This host has ended: what it left behind must end, too. */
  readonly remove: (host: GuardedHost) => void;
  /** Resolves when everything that hosts left so far has been ended. */
  readonly whenSwept: () => Promise<void>;
  /** The service needs it no more. */
  readonly end: () => void;
};
