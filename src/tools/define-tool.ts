import { channel } from 'node:diagnostics_channel';
import type * as z from 'zod';
import { EFFECTS, type Effects } from '../contract/failure.ts';
import { isRecord, memberOf } from '../contract/json-record.ts';
import type { JsonSchema } from '../contract/tool-description.ts';
import type { MemberRule, Refuse } from './check-definition.ts';
import {
  anything,
  callable,
  checkMemberNames,
  checkMembers,
  checkSchema,
  checkTakesObject,
  flag,
  oneOf,
  optional,
  text,
  toolName,
  variableNames,
  whole,
} from './check-definition.ts';
import { createLook, createOwn, createPrepare } from './create-prepare.ts';
import { createExampleArguments, propertiesOf } from './json-schema.ts';
import type { Checked } from './json-schema-checks.ts';
import { createSchemaCheck, isZodSchema, type SchemaCheck } from './schema-check.ts';
import type { Background, InlineTool, ToolContext, Upstream } from './tool.ts';
import { BACKGROUND, DEFAULT_MAX_DURATION_MS, LONGEST_DURATION_MS, MAX_TIMER_MS } from './tool.ts';
import { findResource, type Setup, type Teardown } from './tool-resource.ts';
import type { ToldValue, Verdict } from './tool-values.ts';

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
  /**
   * Looks whether a write took effect of which nobody knows: it timed out, its process died, an answer was lost. It only reads, and
   * runs in another process than the one that died. Look for `effectId`, which `run` has sent upstream.
   */
  readonly reconcile?: (
    facts: ReconcileFacts<ToolArguments<Schema>>,
    context: ToolContext & { readonly resource: NoInfer<Resource> },
  ) => Verdict | Promise<Verdict>;
  /** Milliseconds that a look by `reconcile` may take. Default 5 000. */
  readonly reconcileTimeoutMs?: number;
  /**
   * Says whether a person has to approve a call before it runs; the stricter of this and the configuration decides. It only reads, and
   * whoever throws, takes longer than 5 s or says anything else asks.
   */
  readonly approval?: (
    input: ToolArguments<Schema>,
    context: ToolContext & { readonly resource: NoInfer<Resource> },
  ) => 'ask' | 'allow' | Promise<'ask' | 'allow'>;
  /**
   * Tells what `run` would do with these arguments: what a dry run shows in its place. It only reads, and has 5 s. What it returns is
   * not checked against `output`.
   */
  readonly preview?: (
    input: ToolArguments<Schema>,
    context: ToolContext & { readonly resource: NoInfer<Resource> },
  ) => unknown;
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
  readonly breakerKey?: string | ((input: Readonly<Record<string, unknown>>) => unknown);
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

/** The write that `reconcile` looks for. */
export type ReconcileFacts<Input = Readonly<Record<string, unknown>>> = {
  /** Its arguments, which have passed the schema. */
  readonly input: Input;
  /** As `run` had it in its context. */
  readonly effectId: string;
  /** When `run` began, or earlier where that is not known, in whole Unix milliseconds of the service's clock. */
  readonly startedAt: number;
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
const DEFAULT_RECONCILE_MS = 5000;
const DEFAULT_RETRIES = { read: 3, idempotent: 3, write: 1 } as const satisfies Record<Effects, number>;

/** What each member must be. The list is closed: a definition with any other member is refused. */
const MEMBERS = {
  name: toolName,
  description: text,
  effects: oneOf(EFFECTS),
  input: anything,
  run: callable,
  output: anything,
  reconcile: optional(callable),
  approval: optional(callable),
  reconcileTimeoutMs: optional(whole(1, MAX_TIMER_MS)),
  preview: optional(callable),
  retries: optional(whole(0)),
  timeoutMs: optional(whole(1, MAX_TIMER_MS)),
  gracefulErrors: optional(flag),
  sequential: optional(flag),
  concurrency: optional(whole(1)),
  maxCallsPerSession: optional(whole(0)),
  polling: optional(flag),
  background: optional(oneOf(BACKGROUND)),
  maxDurationMs: optional(whole(1, LONGEST_DURATION_MS)),
  breakerKey: anything,
  extractError: optional(callable),
  upstream: anything,
  source: anything,
  isolation: optional(oneOf(['process', 'own', 'inline'])),
  env: optional(variableNames),
  setup: optional(callable),
  teardown: optional(callable),
} as const satisfies Record<keyof ToolDefinition<AnySchema>, MemberRule>;

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
  const refuse = createRefuse('tool', definition, defineTool);
  checkMemberNames(definition, MEMBERS, refuse);
  checkMembers(definition, MEMBERS, refuse);
  const { name, description, effects, retries = DEFAULT_RETRIES[effects], timeoutMs = DEFAULT_TIMEOUT_MS } = definition;
  const { gracefulErrors = null, sequential = false, concurrency = null, maxCallsPerSession = null } = definition;
  const { background = 'never', maxDurationMs = DEFAULT_MAX_DURATION_MS, polling = false } = definition;
  const { isolation = 'process', env = [], source = 'builtin', upstream = null, extractError = null } = definition;
  const { reconcile, reconcileTimeoutMs = DEFAULT_RECONCILE_MS, approval, preview } = definition;
  checkReconcile(reconcile, effects, refuse);
  const input = compileSchema('input', definition.input, upstream !== null, refuse);
  const output =
    definition.output === undefined ? null : compileSchema('output', definition.output, upstream !== null, refuse);
  const resource = findResource(definition, refuse);
  // The one place where a word is taken for a type: the value comes from that very schema, the resource from that very setup.
  const handle = (value: unknown, context: ToolContext): unknown =>
    definition.run(value as ToolArguments<Schema>, context as ToolContext & { readonly resource: Resource });
  const handlers = { handle, look: createLook(reconcile), judge: createOwn(approval), show: createOwn(preview) };
  const declared: InlineTool = {
    ...{ role: 'tool', runsIn: 'service', name, description, effects, retries, timeoutMs, gracefulErrors, sequential },
    ...{ concurrency, maxCallsPerSession, background, maxDurationMs, polling, env, source, upstream, extractError },
    inputSchema: input.jsonSchema,
    outputSchema: output?.jsonSchema ?? null,
    reconcileTimeoutMs: reconcile === undefined ? null : reconcileTimeoutMs,
    reconcileBy: null,
    asksApproval: approval !== undefined,
    previews: preview !== undefined,
    exampleArguments: createExampleArguments(input.jsonSchema),
    ...readBreakerKey(definition.breakerKey, input.jsonSchema, refuse),
    // What stays open between calls would keep other files from a shared process, and be torn down with every turn.
    isolation: resource !== null && isolation === 'process' ? 'own' : isolation,
    ...(resource === null ? {} : { close: () => resource.close() }),
    ...(reconcile === undefined
      ? {}
      : { handlerTexts: { run: readText(definition.run), reconcile: readText(reconcile) } }),
    prepare: createPrepare(name, input, resource, handlers),
    ...(isZodSchema(definition.input)
      ? {}
      : {
          prepareWithEffectId: {
            inArgument: (schema, complete) => {
              const check = createSchemaCheck(schema, 'input', upstream === null ? 'own' : 'foreign');
              return createPrepare(name, check, resource, {
                ...handlers,
                handle: (value, context) =>
                  handle(isRecord(value) ? complete(value, context.effectId) : value, context),
              });
            },
          },
        }),
    checkOutput: output === null ? null : createOutputCheck(output),
  };
  return reportDeclared(declared, defineTool);
};

// Not `String(…)`, for which a function may say anything.
const readText = (handler: (...args: never) => unknown): string => Function.prototype.toString.call(handler);

const checkReconcile = (reconcile: unknown, effects: Effects, refuse: Refuse): void => {
  if (reconcile !== undefined && effects !== 'write')
    refuse('reconcile', `reconcile is for writes, and effects is '${effects}': a repeat does no harm. Leave it out.`);
};

const compileSchema = (
  side: 'input' | 'output',
  schema: AnySchema,
  isForeign: boolean,
  refuse: Refuse,
): SchemaCheck => {
  checkSchema(side, schema, refuse);
  const check = compile(side, schema, isForeign, refuse);
  if (side === 'input' && !isForeign) checkTakesObject(check.jsonSchema, refuse);
  return check;
};

const compile = (side: 'input' | 'output', schema: AnySchema, isForeign: boolean, refuse: Refuse): SchemaCheck => {
  try {
    return createSchemaCheck(schema, side, isForeign ? 'foreign' : 'own');
  } catch (cause) {
    return refuse(side, `${side} is not a usable schema.`, { cause });
  }
};

/** Refused: what is neither a text nor a function, and the name of an argument that the schema does not let pass. */
const readBreakerKey = (
  declared: ToolDefinition<AnySchema>['breakerKey'],
  inputSchema: JsonSchema,
  refuse: Refuse,
): Pick<InlineTool, 'breakerKey' | 'breakerKeyOf'> => {
  if (declared === undefined) return { breakerKey: null, breakerKeyOf: null };
  if (typeof declared === 'function') return { breakerKey: null, breakerKeyOf: declared };
  if (typeof declared !== 'string' || !takesMember(inputSchema, declared))
    return refuse('breakerKey', 'breakerKey must be the name of an argument, or a function of the arguments.');
  return { breakerKey: declared, breakerKeyOf: (input) => memberOf(input, declared) };
};

const takesMember = (schema: JsonSchema, name: string): boolean =>
  schema['additionalProperties'] !== false || 'patternProperties' in schema || propertiesOf(schema).has(name);

const createOutputCheck =
  (output: SchemaCheck): NonNullable<InlineTool['checkOutput']> =>
  (value) => {
    const checked = output.check(value);
    return checked instanceof Promise ? checked.then(listIssues) : listIssues(checked);
  };

const listIssues = (checked: Checked) => (checked.ok ? [] : checked.issues);

/** A tool or a reducer that was declared, and the stack of where. */
type Declaration = { readonly tool: InlineTool; readonly stack: string };
type Declare = (...definition: never) => InlineTool;

// Known to every copy of this module in the process: a tool file may bring its own.
const DECLARED = channel('recourse:declared');

/** Reports to `watchDeclarations` that `declare` has made this tool. Costs nothing where nothing watches. */
export const reportDeclared = (tool: InlineTool, declare: Declare): InlineTool => {
  if (DECLARED.hasSubscribers) {
    const at = { stack: '' };
    Error.captureStackTrace(at, declare);
    DECLARED.publish({ tool, stack: at.stack } satisfies Declaration);
  }
  return tool;
};

/** Calls `onDeclared` with every declaration until the function that it returns is called. */
export const watchDeclarations = (onDeclared: (declaration: Declaration) => void): (() => void) => {
  const listen = (message: unknown): void => {
    if (isDeclaration(message)) onDeclared(message);
  };
  DECLARED.subscribe(listen);
  return () => void DECLARED.unsubscribe(listen);
};

const isDeclaration = (message: unknown): message is Declaration =>
  typeof message === 'object' && message !== null && 'tool' in message && 'stack' in message;

const ABOUT = Symbol.for('recourse.definition');

/** What a refused declaration is about: `tool` is null where it has no usable name. */
type RefusedDefinition = { readonly tool: string | null; readonly member: string };

/**
 * Refuses declarations by `declare`: throws a TypeError that names the tool, and whose stack begins where `declare` was
 * called. Throws at once where the definition is no object.
 */
export const createRefuse = (kind: 'tool' | 'reducer', definition: unknown, declare: Declare): Refuse => {
  const name = memberOf(definition, 'name');
  const tool = typeof name === 'string' ? name : null;
  const subject = `${kind === 'tool' ? 'Tool' : 'Reducer'}${tool === null ? '' : ` '${tool.slice(0, 80)}'`}`;
  const refuse: Refuse = (member, sentence, options) => {
    const error = new TypeError(`${subject}: ${sentence}`, options);
    Error.captureStackTrace(error, declare);
    const about: RefusedDefinition = { tool, member };
    // Not enumerable: to whoever catches it, it is a TypeError like others.
    throw Object.defineProperty(error, ABOUT, { value: about });
  };
  if (typeof definition !== 'object' || definition === null)
    refuse('name', `${declare.name} takes one object: \`${declare.name}({ name, … })\`.`);
  return refuse;
};

/** What it is about, where a declaration was refused by it, in whichever copy of this module; else null. */
export const readDefinitionError = (thrown: unknown): RefusedDefinition | null => {
  const about: unknown = thrown instanceof TypeError ? Reflect.get(thrown, ABOUT) : undefined;
  return isAbout(about) ? about : null;
};

const isAbout = (about: unknown): about is RefusedDefinition =>
  typeof about === 'object' && about !== null && 'tool' in about && 'member' in about;
