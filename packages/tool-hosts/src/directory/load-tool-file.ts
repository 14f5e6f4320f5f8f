import { isDefinedTool } from 'recourse-server/tools/define-tool';
import type { InlineTool, ToolFacts, ToolFile } from 'recourse-server/tools/tool';
import type { SourcePlace } from './load-problem.ts';

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
};

/** What else a file that could be loaded shows of its author's intentions. */
export type LoadFindings = {
  /** Declared in the file, and not among what it exports: they cannot serve. */
  readonly unexported: readonly LoadedFacts[];
  /** Exports that look like a tool and were not made by `defineTool`: the export's name, and the tool's if it has one. */
  readonly lookalikes: readonly { readonly exportName: string; readonly tool: string | null }[];
};

/** `imported`: the absolute paths of the directory's source files that loading it took, its own among them. */
export type LoadedFile = LoadFindings & {
  readonly kind: 'loaded';
  readonly tools: readonly LoadedFacts[];
  readonly imported: readonly string[];
};

/** `reason`: one line for people: what the file threw, or that it did not end. `thrown`: null where it threw nothing. */
export type FailedFile = { readonly kind: 'failed'; readonly reason: string; readonly thrown: ThrownAtLoad | null };

export type LoadedToolFile = LoadedFile | FailedFile;

/** Where the code of tool files lives: other processes. */
export type ToolFileHosts = {
  /** Loads the file in a tool host and gives what its tools say of themselves; at most 2 s once that is up, without what it waits for a processor; never rejects. */
  readonly load: (file: ToolFile) => Promise<LoadedToolFile>;
  /** No call of this version will come any more: its idle processes end now, busy ones after their call. */
  readonly retire: (file: ToolFile) => void;
};

/** Whatever a module exports that `defineTool` made, in arrays too, each once; as `default` or under any name. */
export const findExportedTools = (exports: object): readonly InlineTool[] => {
  const exported: readonly unknown[] = Object.values(exports).flatMap((value: unknown) => value);
  return [...new Set(exported.filter(isDefinedTool))];
};

const HANDLERS = ['run', 'execute', 'handler', 'func', 'invoke', 'callback'];

/** Exports that are objects with a handler and a description or a schema, as tools have in this and other libraries. */
export const findLookalikes = (exports: object): LoadFindings['lookalikes'] =>
  Object.entries(exports).flatMap(([exportName, exported]) =>
    [exported]
      .flat()
      .filter(looksLikeTool)
      .map((value: object) => ({
        exportName,
        tool: 'name' in value && typeof value.name === 'string' ? value.name : null,
      })),
  );

const looksLikeTool = (value: unknown): value is object =>
  typeof value === 'object' &&
  value !== null &&
  !isDefinedTool(value) &&
  HANDLERS.some((member) => typeof Reflect.get(value, member) === 'function') &&
  ['description', 'input', 'parameters', 'inputSchema', 'schema'].some((member) => member in value);

/** What is known of a tool wherever it runs, without its functions: what can go from one process to another. */
export const toLoadedFacts = (tool: InlineTool, place: SourcePlace | null = null): LoadedFacts => ({
  role: tool.role,
  name: tool.name,
  description: tool.description,
  effects: tool.effects,
  inputSchema: tool.inputSchema,
  outputSchema: tool.outputSchema,
  retries: tool.retries,
  timeoutMs: tool.timeoutMs,
  gracefulErrors: tool.gracefulErrors,
  sequential: tool.sequential,
  concurrency: tool.concurrency,
  maxCallsPerSession: tool.maxCallsPerSession,
  polling: tool.polling,
  background: tool.background,
  maxDurationMs: tool.maxDurationMs,
  breakerKey: tool.breakerKey,
  upstream: null,
  source: tool.source,
  exampleArguments: tool.exampleArguments,
  isolation: tool.isolation,
  env: tool.env,
  // A name is read wherever the arguments are; a function stays where it was declared.
  inlineOnly: tool.breakerKey === null && tool.breakerKeyOf !== null ? 'breakerKey' : null,
  holds: tool.close !== undefined,
  place,
});
