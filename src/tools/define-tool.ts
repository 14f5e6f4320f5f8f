import { channel } from 'node:diagnostics_channel';
import type * as z from 'zod';
import type { Effects } from '../contract/failure.ts';
import type { JsonSchema } from '../contract/tool-description.ts';
import type { Issue } from '../contract/tool-result.ts';
import {
  checkIsObject,
  checkMemberNames,
  checkMembers,
  checkName,
  checkSchema,
  checkTakesObject,
  type DeclaredBreakerKey,
  type Refuse,
  type ThrowAbout,
  toBreakerKey,
  toNameOf,
} from './check-definition.ts';
import { toExampleArguments } from './json-schema.ts';
import type { Checked } from './json-schema-checks.ts';
import { type SchemaCheck, toSchemaCheck } from './schema-check.ts';
import {
  type Background,
  DEFAULT_MAX_DURATION_MS,
  type InlineTool,
  LONGEST_DURATION_MS,
  type Prepared,
  type ToolContext,
  UNSTATED,
  type Upstream,
} from './tool.ts';
import {
  type ResourceHandler,
  type Setup,
  type Teardown,
  type ToolResource,
  toIsolation,
  toResource,
} from './tool-resource.ts';
import type { ToldValue } from './tool-values.ts';

/** A zod schema, or a JSON Schema (draft 2020-12). */
type AnySchema = z.ZodType | JsonSchema;

/** What a tool says about itself. Only the first five members are required. */
export type ToolDefinition<
  Schema extends AnySchema,
  Output extends AnySchema = AnySchema,
  Result = ToolAnswer<Output>,
  Resource = undefined,
> = {
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
  /**
   * The handler, synchronous or not. `input` has passed the schema. An `async function*` shows what it yields to people, as
   * `context.part` does, and returns its value.
   */
  readonly run: (
    input: ToolArguments<Schema>,
    context: ToolContext & { readonly resource: NoInfer<Resource> },
  ) => Result;
  /** What `run` returns, checked with each call; with a zod schema its type is checked, too. */
  readonly output?: Output;
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
  /** Whether a call may go on after its request has been answered. Default `never`. */
  readonly background?: Background;
  /** Milliseconds that a call may take which goes on after its request. Default 1 h, at most 24 h. */
  readonly maxDurationMs?: number;
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
type ToolArguments<Schema> = Schema extends z.ZodType ? z.output<Schema> : Readonly<Record<string, unknown>>;

/** What the handler returns: what its `output` schema takes, as it is or with a text for the model; without one anything. */
type ToolAnswer<Output> = Output extends z.ZodType ? Answer<Frozen<z.input<Output>>> : unknown;
/** Lists and objects that may be readonly: nobody writes to what a handler returns. */
type Frozen<Value> = unknown extends Value
  ? unknown
  : Value extends object
    ? { readonly [Member in keyof Value]: Frozen<Value[Member]> }
    : Value;
type Returned<Value> = Value | ToldValue<Value>;
/** What a generator yields is for people; what it returns is the answer. */
type Shown<Value> = AsyncGenerator<unknown, Returned<Value>, undefined>;
type Answer<Value> = Returned<Value> | Shown<Value> | Promise<Returned<Value> | Shown<Value>>;

const DEFAULT_TIMEOUT_MS = 30_000;
const MAX_TIMEOUT_MS = 2_147_483_647; // a longer setTimeout fires at once
const DEFAULT_RETRIES = { read: 3, idempotent: 3, write: 1 } as const satisfies Record<Effects, number>;

/**
 * Declares a tool. Throws a TypeError that names the tool and the member when the declaration is wrong: a bad name, a member
 * it does not know, unknown `effects`, a negative, fractional or non-finite number, a schema that cannot be compiled.
 */
export const defineTool = <
  Schema extends AnySchema,
  Output extends AnySchema = AnySchema,
  // Constant: else a text in what `run` returns would be any text to the compiler, and no member of an enumeration.
  const Result extends ToolAnswer<Output> = ToolAnswer<Output>,
  Resource = undefined,
>(
  definition: ToolDefinition<Schema, Output, Result, Resource>,
): InlineTool => {
  const tool = toNameOf(definition);
  const subject = tool === null ? 'A tool' : `Tool '${tool}'`;
  const throwAbout: ThrowAbout = (member, text, options) => {
    throw createDefinitionError(text, { tool, member }, defineTool, options);
  };
  const refuse: Refuse = (member, rule, shown = member) =>
    throwAbout(member, `${subject}: ${shown} ${rule.endsWith('?') ? rule : `${rule}.`}`);
  checkIsObject(definition, throwAbout);
  checkMemberNames(definition, MEMBER_NAMES, refuse);
  const { name, effects } = definition;
  checkName(name, throwAbout);
  checkMembers(definition, refuse);
  const whole = (member: string, value: number, least: number, most = Number.MAX_SAFE_INTEGER): number =>
    Number.isSafeInteger(value) && value >= least && value <= most
      ? value
      : refuse(member, `must be a whole number from ${least} to ${most}, not ${String(value)}`);
  const limit = (member: string, value: number | undefined, least: number): number | null =>
    value === undefined ? null : whole(member, value, least);
  const compile = createCompile(definition, refuse, throwAbout);
  const input = compile('input', definition.input);
  const output = definition.output === undefined ? null : compile('output', definition.output);
  const resource = toResource(definition, refuse);
  const declared: InlineTool = {
    ...UNSTATED,
    extractError: null,
    ...pickStated(definition),
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
    maxDurationMs: whole('maxDurationMs', definition.maxDurationMs ?? DEFAULT_MAX_DURATION_MS, 1, LONGEST_DURATION_MS),
    concurrency: limit('concurrency', definition.concurrency, 1),
    maxCallsPerSession: limit('maxCallsPerSession', definition.maxCallsPerSession, 0),
    exampleArguments: toExampleArguments(input.jsonSchema),
    prepare: toPrepare({
      name,
      input,
      resource,
      // The one place where a word is taken for a type: the value comes from that very schema, the resource from that very setup.
      handle: (value, context) =>
        definition.run(value as ToolArguments<Schema>, context as ToolContext & { readonly resource: Resource }),
    }),
    checkOutput: output === null ? null : toOutputCheck(output),
  };
  return tellDeclared(declared, defineTool);
};

const createCompile =
  ({ name, upstream }: AnyDefinition, refuse: Refuse, throwAbout: ThrowAbout) =>
  (side: 'input' | 'output', schema: AnySchema): SchemaCheck => {
    checkSchema(side, schema, refuse);
    try {
      const check = toSchemaCheck(schema, side, upstream === undefined ? 'own' : 'foreign');
      if (side === 'input' && upstream === undefined) checkTakesObject(check.jsonSchema, refuse);
      return check;
    } catch (cause) {
      if (readDefinitionError(cause) !== null) throw cause;
      return throwAbout(side, `Tool '${name}': ${side} is not a usable schema.`, { cause });
    }
  };

const MEMBERS = {
  name: true,
  description: true,
  input: true,
  effects: true,
  run: true,
  output: true,
  retries: true,
  timeoutMs: true,
  gracefulErrors: true,
  sequential: true,
  concurrency: true,
  maxCallsPerSession: true,
  polling: true,
  background: true,
  maxDurationMs: true,
  breakerKey: true,
  extractError: true,
  upstream: true,
  source: true,
  isolation: true,
  env: true,
  setup: true,
  teardown: true,
} as const satisfies Record<keyof ToolDefinition<AnySchema>, true>;
const MEMBER_NAMES = Object.keys(MEMBERS);

type AnyDefinition = Omit<ToolDefinition<AnySchema>, 'run' | 'setup' | 'teardown'> & { readonly run: unknown };

const pickStated = (definition: AnyDefinition) => {
  const { gracefulErrors, sequential, polling, background, source, extractError, upstream } = definition;
  const stated = Object.entries({ gracefulErrors, sequential, polling, background, source, extractError, upstream });
  return Object.fromEntries(stated.filter(([, value]) => value !== undefined));
};

type Handling = {
  readonly name: string;
  readonly input: SchemaCheck;
  readonly resource: ToolResource | null;
  /** Runs the tool's code with a value that passed its schema; the context has the resource, where there is one. */
  readonly handle: (value: unknown, context: ToolContext) => unknown;
};

/** Checks arguments, and binds them to their handler. */
const toPrepare = ({ name, input, resource, handle }: Handling): InlineTool['prepare'] => {
  const toPrepared = (checked: Checked): Prepared => {
    if (!checked.ok) return checked;
    const { value } = checked;
    if (resource === null) return { ok: true, invocation: { run: (context) => handle(value, context) } };
    const handler: ResourceHandler = (context, made) => handle(value, Object.assign(context, { resource: made }));
    return { ok: true, invocation: { run: (context) => resource.run(handler, name, context) } };
  };
  return (given, names) => {
    const checked = input.check(given, names);
    return checked instanceof Promise ? checked.then(toPrepared) : toPrepared(checked);
  };
};

/** What is wrong with an output. */
const toOutputCheck = (output: SchemaCheck): NonNullable<InlineTool['checkOutput']> => {
  const toIssues = (checked: Checked): readonly Issue[] => (checked.ok ? [] : checked.issues);
  return (value) => {
    const checked = output.check(value);
    return checked instanceof Promise ? checked.then(toIssues) : toIssues(checked);
  };
};

/** A tool or a reducer that was declared, and the stack of where. */
type Declaration = { readonly tool: InlineTool; readonly stack: string };

// Known to every copy of this module in the process: a tool file may bring its own.
const DECLARED = channel('recourse:declared');

/** Tells whoever watches that `declare` has made this tool. Costs nothing where nobody does. */
export const tellDeclared = (tool: InlineTool, declare: (...definition: never) => InlineTool): InlineTool => {
  if (DECLARED.hasSubscribers) {
    const at = { stack: '' };
    Error.captureStackTrace(at, declare);
    DECLARED.publish({ tool, stack: at.stack } satisfies Declaration);
  }
  return tool;
};

/** Hears of every declaration until it is stopped. */
export const watchDeclarations = (hear: (declaration: Declaration) => void): (() => void) => {
  const listen = (message: unknown): void => {
    if (isDeclaration(message)) hear(message);
  };
  DECLARED.subscribe(listen);
  return () => void DECLARED.unsubscribe(listen);
};

const isDeclaration = (message: unknown): message is Declaration =>
  typeof message === 'object' && message !== null && 'tool' in message && 'stack' in message;

const ABOUT = Symbol.for('recourse.definition');

/** What a refused declaration is about: `tool` is null where it has no usable name. */
export type RefusedDefinition = { readonly tool: string | null; readonly member: string };

/** Refuses a declaration: a TypeError whose stack begins where `declare` was called. */
export const createDefinitionError = (
  text: string,
  about: RefusedDefinition,
  declare: (...definition: never) => unknown,
  options: ErrorOptions = {},
): TypeError => {
  const error = new TypeError(text, options);
  Error.captureStackTrace(error, declare);
  // Not to be seen: it is a TypeError like others to whoever catches it.
  return Object.defineProperty(error, ABOUT, { value: about });
};

/** What it is about, where a declaration was refused by it, in whichever copy of this module; else null. */
export const readDefinitionError = (thrown: unknown): RefusedDefinition | null => {
  const about: unknown = thrown instanceof TypeError ? Reflect.get(thrown, ABOUT) : undefined;
  return isAbout(about) ? about : null;
};

const isAbout = (about: unknown): about is RefusedDefinition =>
  typeof about === 'object' && about !== null && 'tool' in about && 'member' in about;
