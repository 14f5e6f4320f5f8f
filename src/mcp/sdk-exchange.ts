import type { Exchange } from './exchange.ts';

/** An exchange that the SDK answers. */
export type SdkExchange = Exchange & {
  /** Arguments that are no object, by the id of their JSON-RPC request: the executor judges them, not the SDK. */
  readonly argumentsAside: ReadonlyMap<unknown, unknown>;
  /** The tools of `tools/list` as JSON text, where that was asked for: they stand in the answer in place of none. */
  catalogue: string | null;
  /** Aborted when nobody waits for the answer any more. */
  readonly ending: AbortController;
};
