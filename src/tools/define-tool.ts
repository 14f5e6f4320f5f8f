import type * as z from 'zod';
import type { Effects } from '../contract/failure.ts';
import type { JsonSchema } from '../contract/tool-description.ts';
import type { Issue } from '../contract/tool-result.ts';
import { type DeclaredBreakerKey, toBreakerKey } from './breaker-key.ts';
import { toExampleArguments } from './example-arguments.ts';
import { type Checked, type SchemaCheck, toSchemaCheck } from './schema-check.ts';
import type { InlineTool, Prepared, ToolContext, Upstream } from './tool.ts';
import { type ResourceHandler, type Setup, type Teardown, type ToolResource, toToolResource } from './tool-resource.ts';

/** What a tool says about itself. Only the first five members are required. */
export type ToolDefinition<Schema extends z.ZodType | JsonSchema, Resource = undefined> = {
  /** 1 to 64 of `A–Z a–z 0–9 _ . -`, unique in the service. */
  readonly name: string;
  /** For the model: what it does, when to use it, what it returns. */
  readonly description: string;
  /** A zod schema, or a JSON Schema (draft 2020-12) of an object. */
  readonly input: Schema;
  /** What a repeat may do: `read`, `idempotent`, or `write`. */
  readonly effects: Effects;
  /**
   * Makes what its calls share, a pool of connections for example: once in each process that runs the tool, when its first
   * call needs it. Tools with the same function share what it makes. Write it above `run`, which has it as `context.resource`.
   */
  readonly setup?: Setup<Resource>;
  /** Ends what `setup` made, within a second, when the process ends in an orderly way. */
  readonly teardown?: Teardown<NoInfer<Resource>>;
  /** The handler, synchronous or not. `input` has passed the schema. */
  readonly run: (
    input: ToolArguments<Schema>,
    context: ToolContext & { readonly resource: NoInfer<Resource> },
  ) => unknown;
  readonly output?: z.ZodType | JsonSchema;
  /** Failed rounds in a row beyond the first. Default 3, for write tools 1. 0 = none. */
  readonly retries?: number;
  /** Milliseconds, hard. Default 30 000. */
  readonly timeoutMs?: number;
  /** false: an exception of this tool is fatal for the agent's run. Default: as the service says. */
  readonly gracefulErrors?: boolean;
  readonly sequential?: boolean;
  /** How many calls may run at once in this process. */
  readonly concurrency?: number;
  /** How many calls of it may run in one session. 0 = none. Default: as many as come. */
  readonly maxCallsPerSession?: number;
  /** true: the same call with the same answer is how it is meant to be used, and never taken for a loop. */
  readonly polling?: boolean;
  /**
   * Which upstream a call talks to, so that one that is down closes the tool for its own calls only: the name of an
   * argument, or, for a tool that runs inside the service, a function of the arguments as they were sent.
   */
  readonly breakerKey?: DeclaredBreakerKey;
  /** Where the tool tells failures by its value: returns the error (an Error or a text), or undefined for a success. */
  readonly extractError?: (value: unknown) => unknown;
  /** What all its calls go to, where other tools go there too. */
  readonly upstream?: Upstream;
  readonly source?: string;
  /**
   * `own`: its file shares its processes with no other. `inline`: run inside the service, only where the operator names the
   * tool in TOOLS_INLINE. Default `process`.
   */
  readonly isolation?: 'process' | 'own' | 'inline';
  /** Environment variables the tool reads. It gets those that the operator's TOOLS_ENV_ALLOW matches. */
  readonly env?: readonly string[];
};

/** Whether `defineTool` made this, of whichever copy of this module. */
export const isDefinedTool = (value: unknown): value is InlineTool =>
  typeof value === 'object' &&
  value !== null &&
  'runsIn' in value &&
  value.runsIn === 'service' &&
  'prepare' in value &&
  typeof value.prepare === 'function';

/** What the handler gets: the schema's output type, or a plain record for a JSON Schema. */
export type ToolArguments<Schema> = Schema extends z.ZodType ? z.output<Schema> : Readonly<Record<string, unknown>>;

const DEFAULT_TIMEOUT_MS = 30_000;
const MAX_TIMEOUT_MS = 2_147_483_647; // a longer setTimeout fires at once
const DEFAULT_RETRIES = { read: 3, idempotent: 3, write: 1 } as const satisfies Record<Effects, number>;
// Metric labels of our own; a tool of that name would share their series.
const RESERVED_NAMES: ReadonlySet<string> = new Set(['_unknown', '_other']);

/**
 * Declares a tool. Throws a TypeError that names the tool and the member when the declaration is wrong: a bad name,
 * unknown `effects`, a negative, fractional or non-finite number, a schema that cannot be compiled.
 */
export const defineTool = <Schema extends z.ZodType | JsonSchema, Resource = undefined>(
  definition: ToolDefinition<Schema, Resource>,
): InlineTool => {
  const { name, effects } = definition;
  checkName(name);
  const refuse = (member: string, rule: string): never => {
    throw new TypeError(`Tool '${name}': ${member} ${rule}.`);
  };
  checkMembers(definition, refuse);
  const whole = (member: string, value: number, least: number, most = Number.MAX_SAFE_INTEGER): number =>
    Number.isSafeInteger(value) && value >= least && value <= most
      ? value
      : refuse(member, `must be a whole number from ${least} to ${most}, not ${String(value)}`);
  const compile = (side: 'input' | 'output', schema: z.ZodType | JsonSchema): SchemaCheck => {
    try {
      return toSchemaCheck(schema, side, definition.upstream === undefined ? 'own' : 'foreign');
    } catch (error) {
      throw new TypeError(`Tool '${name}': ${side} is no usable schema.`, { cause: error });
    }
  };
  const input = compile('input', definition.input);
  const output = definition.output === undefined ? null : compile('output', definition.output);
  const resource = toResource(definition, refuse);
  return {
    ...DEFAULTS,
    ...pickGiven(definition),
    ...toBreakerKey(definition.breakerKey, input.jsonSchema, refuse),
    role: 'tool',
    runsIn: 'service',
    ...toIsolation(definition.isolation, resource),
    env: definition.env ?? [],
    name,
    description: definition.description,
    effects,
    inputSchema: input.jsonSchema,
    outputSchema: output?.jsonSchema ?? null,
    retries: whole('retries', definition.retries ?? DEFAULT_RETRIES[effects], 0),
    timeoutMs: whole('timeoutMs', definition.timeoutMs ?? DEFAULT_TIMEOUT_MS, 1, MAX_TIMEOUT_MS),
    concurrency: definition.concurrency === undefined ? null : whole('concurrency', definition.concurrency, 1),
    maxCallsPerSession:
      definition.maxCallsPerSession === undefined
        ? null
        : whole('maxCallsPerSession', definition.maxCallsPerSession, 0),
    exampleArguments: toExampleArguments(input.jsonSchema),
    prepare: toPrepare(input, definition, resource),
    checkOutput: output === null ? null : toOutputCheck(output),
  };
};

const DEFAULTS = {
  gracefulErrors: null,
  sequential: false,
  polling: false,
  source: 'builtin',
  extractError: null,
  upstream: null,
};

const pickGiven = <Schema extends z.ZodType | JsonSchema, Resource>(definition: ToolDefinition<Schema, Resource>) => {
  const { gracefulErrors, sequential, polling, source, extractError, upstream } = definition;
  const given = Object.entries({ gracefulErrors, sequential, polling, source, extractError, upstream });
  return Object.fromEntries(given.filter(([, value]) => value !== undefined));
};

const toResource = <Schema extends z.ZodType | JsonSchema, Resource>(
  { setup, teardown }: Pick<ToolDefinition<Schema, Resource>, 'setup' | 'teardown'>,
  refuse: (member: string, rule: string) => never,
): ToolResource | null => {
  if (setup !== undefined && typeof setup !== 'function') refuse('setup', 'must be a function');
  if (teardown !== undefined && typeof teardown !== 'function') refuse('teardown', 'must be a function');
  if (setup === undefined) return teardown === undefined ? null : refuse('teardown', 'needs a setup');
  return toToolResource({ setup, teardown: teardown ?? (() => undefined) });
};

// What is open between calls would keep other files from a shared process, and be torn down with every turn.
const toIsolation = (
  isolation: InlineTool['isolation'] | undefined,
  resource: ToolResource | null,
): Pick<InlineTool, 'isolation' | 'close'> =>
  resource === null
    ? { isolation: isolation ?? 'process' }
    : { isolation: isolation === 'inline' ? isolation : 'own', close: () => resource.close() };

const toPrepare = <Schema extends z.ZodType | JsonSchema, Resource>(
  input: SchemaCheck,
  { name, run }: ToolDefinition<Schema, Resource>,
  resource: ToolResource | null,
): InlineTool['prepare'] => {
  // The one place where a word is taken for a type: `value` comes from that very schema, the resource from that very setup.
  const runWith = (value: unknown, context: ToolContext): unknown =>
    run(value as ToolArguments<Schema>, context as ToolContext & { readonly resource: Resource });
  const toPrepared = (checked: Checked): Prepared => {
    if (!checked.ok) return checked;
    const { value } = checked;
    if (resource === null) return { ok: true, invocation: { run: (context) => runWith(value, context) } };
    const handler: ResourceHandler = (context, made) => runWith(value, Object.assign(context, { resource: made }));
    return { ok: true, invocation: { run: (context) => resource.run(handler, name, context) } };
  };
  return (given) => {
    const checked = input.check(given);
    return checked instanceof Promise ? checked.then(toPrepared) : toPrepared(checked);
  };
};

const toOutputCheck = (output: SchemaCheck): NonNullable<InlineTool['checkOutput']> => {
  const toIssues = (checked: Checked): readonly Issue[] => (checked.ok ? [] : checked.issues);
  return (value) => {
    const checked = output.check(value);
    return checked instanceof Promise ? checked.then(toIssues) : toIssues(checked);
  };
};

const checkMembers = <Schema extends z.ZodType | JsonSchema, Resource>(
  { effects, description, run, polling, isolation = 'process', env = [] }: ToolDefinition<Schema, Resource>,
  refuse: (member: string, rule: string) => never,
): void => {
  if (!Object.hasOwn(DEFAULT_RETRIES, effects)) refuse('effects', "must be 'read', 'idempotent' or 'write'");
  if (typeof description !== 'string') refuse('description', 'must be a text');
  if (typeof run !== 'function') refuse('run', 'must be a function');
  if (polling !== undefined && typeof polling !== 'boolean') refuse('polling', 'must be true or false');
  if (isolation !== 'process' && isolation !== 'own' && isolation !== 'inline')
    refuse('isolation', "must be 'process', 'own' or 'inline'");
  if (!Array.isArray(env) || !env.every(isVariableName)) refuse('env', 'must be a list of names of variables');
};

const isVariableName = (name: unknown): boolean => typeof name === 'string' && /^[A-Za-z_]\w*$/.test(name);

const checkName = (name: unknown): void => {
  if (typeof name !== 'string' || !/^[A-Za-z0-9_.-]{1,64}$/.test(name))
    throw new TypeError(`A tool name must be 1 to 64 of A-Z a-z 0-9 _ . - and not ${JSON.stringify(name)}.`);
  if (RESERVED_NAMES.has(name)) throw new TypeError(`The tool name '${name}' is reserved.`);
};
