import type { ToolFacts, ToolFile } from '../tool.ts';
import type { SourcePlace } from './source-place.ts';

/** A tool or a reducer as its file declares it. */
export type LoadedFacts = ToolFacts & {
  /** Which member of it works inside the service only, and so makes a tool that runs elsewhere unavailable. */
  readonly inlineOnly: 'breakerKey' | null;
  readonly upstream: null;
  /** Whether it has a `setup`, and so holds something between its calls in the process that runs them. */
  readonly holds: boolean;
  /** Where it is declared; null where that is not known. */
  readonly place: SourcePlace | null;
};

/** What a file threw while it was loaded. */
export type ThrownAtLoad = {
  readonly name: string;
  readonly message: string;
  /** Of Node's errors: `ERR_MODULE_NOT_FOUND`. */
  readonly code: string | null;
  /** Of a refused declaration. */
  readonly tool: string | null;
  readonly member: string | null;
  readonly place: SourcePlace | null;
  /** What `recourse` exports. */
  readonly exports: readonly string[];
};

/** What else a file that could be loaded shows of its author's intentions. */
export type LoadFindings = {
  /** Declared in the file, and not among what it exports: they cannot serve. */
  readonly unexported: readonly LoadedFacts[];
  /** Exports that look like a tool and were not made by `defineTool`: the export's name, and the tool's if it has one. */
  readonly lookalikes: readonly { readonly exportName: string; readonly tool: string | null }[];
};

export type LoadedToolFile =
  /** `imported`: the absolute paths of the directory's source files that loading it took, its own among them. */
  | ({
      readonly kind: 'loaded';
      readonly tools: readonly LoadedFacts[];
      readonly imported: readonly string[];
    } & LoadFindings)
  /** `reason`: one line for people: what the file threw, or that it did not end. `thrown`: null where it threw nothing. */
  | { readonly kind: 'failed'; readonly reason: string; readonly thrown: ThrownAtLoad | null };

/** Where the code of tool files lives: other processes. */
export type ToolFileHosts = {
  /** Loads the file in a tool host and gives what its tools say of themselves; at most 2 s once that is up, without what it waits for a processor; never rejects. */
  readonly load: (file: ToolFile) => Promise<LoadedToolFile>;
  /** No call of this version will come any more: its idle processes end now, busy ones after their call. */
  readonly retire: (file: ToolFile) => void;
};
