import type { ToolFacts, ToolFile } from '../tool.ts';

/** A tool or a reducer as its file declares it. */
export type LoadedFacts = ToolFacts & {
  /** Which member of it works inside the service only, and so makes a tool that runs elsewhere unavailable. */
  readonly inlineOnly: 'breakerKey' | null;
  readonly upstream: null;
};

export type LoadedToolFile =
  /** `imported`: the absolute paths of the directory's source files that loading it took, its own among them. */
  | { readonly kind: 'loaded'; readonly tools: readonly LoadedFacts[]; readonly imported: readonly string[] }
  /** `reason`: one line for people: what the file threw, or that it did not end. */
  | { readonly kind: 'failed'; readonly reason: string };

/** Where the code of tool files lives: other processes. */
export type ToolFileHosts = {
  /** Loads the file in a tool host and gives what its tools say of themselves; at most 2 s once that is up, without what it waits for a processor; never rejects. */
  readonly load: (file: ToolFile) => Promise<LoadedToolFile>;
  /** No call of this version will come any more: its idle processes end now, busy ones after their call. */
  readonly retire: (file: ToolFile) => void;
};
