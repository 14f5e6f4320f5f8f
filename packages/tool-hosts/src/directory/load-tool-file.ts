import { EFFECTS } from 'recourse-server/contract/failure';
import { JsonSchema } from 'recourse-server/contract/tool-description';
import { isDefinedTool } from 'recourse-server/tools/define-tool';
import { BACKGROUND, type InlineTool, type ToolFile } from 'recourse-server/tools/tool';
import * as z from 'zod';

const SourcePlace = z.object({ path: z.string(), line: z.int().positive(), column: z.int().positive() });

/** A tool or a reducer as its file declares it, and as it comes over the channel. */
const LoadedFacts = z.object({
  role: z.enum(['tool', 'reducer']),
  name: z.string(),
  description: z.string(),
  effects: z.enum(EFFECTS),
  inputSchema: JsonSchema,
  outputSchema: JsonSchema.nullable(),
  retries: z.int().nonnegative(),
  timeoutMs: z.int().positive(),
  gracefulErrors: z.boolean().nullable(),
  sequential: z.boolean(),
  concurrency: z.int().positive().nullable(),
  maxCallsPerSession: z.int().nonnegative().nullable(),
  polling: z.boolean(),
  background: z.enum(BACKGROUND),
  maxDurationMs: z.int().positive(),
  breakerKey: z.string().nullable(),
  reconcileTimeoutMs: z.int().positive().nullable(),
  asksApproval: z.boolean(),
  previews: z.boolean(),
  // Never a tool file's to say: one is of tools that the service itself connects to, the other of the configuration file.
  upstream: z.null(),
  reconcileBy: z.null(),
  source: z.string(),
  exampleArguments: z.string(),
  isolation: z.enum(['process', 'own', 'inline']),
  env: z.array(z.string()),
  /** Which member of it works inside the service only, and so makes a tool that runs elsewhere unavailable. */
  inlineOnly: z.literal('breakerKey').nullable(),
  /** Whether it has a `setup`, and so holds something between its calls in the process that runs them. */
  holds: z.boolean(),
  /** JavaScript, of a tool with a `reconcile`; null = it has none. */
  handlerTexts: z.object({ run: z.string(), reconcile: z.string() }).nullable(),
  /** Where it is declared; null where that is not known. */
  place: SourcePlace.nullable(),
});
export type LoadedFacts = Readonly<z.infer<typeof LoadedFacts>>;

/** The facts of a tool wherever it runs, without its functions: what can go from one process to another. */
export const pickFacts = (tool: InlineTool, place: z.infer<typeof SourcePlace> | null): object => ({
  ...Object.fromEntries(FACTS.map((name) => [name, Reflect.get(tool, name)])),
  upstream: null,
  // A name is read wherever the arguments are; a function stays where it was declared.
  inlineOnly: tool.breakerKey === null && tool.breakerKeyOf !== null ? 'breakerKey' : null,
  holds: tool.close !== undefined,
  handlerTexts: tool.handlerTexts ?? null,
  place,
});

const FACTS = Object.keys(LoadedFacts.shape);

/** The body of `loaded`. */
export const LoadedBody = z.object({
  tools: z.array(LoadedFacts),
  /** Absolute paths of the directory's source files that loading the file took, its own among them. */
  imported: z.array(z.string()),
  /** Declared in the file, and not among what it exports: they cannot serve. */
  unexported: z.array(LoadedFacts),
  /** Exports that look like a tool and were not made by `defineTool`: the export's name, and the tool's if it has one. */
  lookalikes: z.array(z.object({ exportName: z.string(), tool: z.string().nullable() })),
});

export type LoadedBody = {
  readonly [Name in keyof z.infer<typeof LoadedBody>]: Readonly<z.infer<typeof LoadedBody>[Name]>;
};

/** What a file threw while it was loaded: the body of `load_failed`. */
export const ThrownAtLoad = z.object({
  name: z.string(),
  message: z.string(),
  /** Of Node's errors: `ERR_MODULE_NOT_FOUND`. */
  code: z.string().nullable(),
  /** Of a refused declaration. */
  tool: z.string().nullable(),
  member: z.string().nullable(),
  place: SourcePlace.nullable(),
});
export type ThrownAtLoad = Readonly<z.infer<typeof ThrownAtLoad>>;

export type LoadedFile = { readonly kind: 'loaded' } & LoadedBody;

/** The file itself says so. `reason`: one line for people: what it threw. `thrown`: null where it threw nothing. */
export type FailedFile = { readonly kind: 'failed'; readonly reason: string; readonly thrown: ThrownAtLoad | null };

/** It did not end within its time, or its process did not start or ended: the file need not be the cause. `reason`: one line for people. */
export type BrokenLoad = { readonly kind: 'broken'; readonly reason: string };

export type LoadedToolFile = LoadedFile | FailedFile | BrokenLoad;

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
export const findLookalikes = (exports: object): LoadedFile['lookalikes'] =>
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
