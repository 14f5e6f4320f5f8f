import { findNearestNames } from '../contract/nearest-names.ts';
import type { JsonSchema } from '../contract/tool-description.ts';
import { BACKGROUND, type InlineTool } from './tool.ts';

/** `shown`: what the rule is about, where that is not the member by its name. */
export type Refuse = (member: string, rule: string, shown?: string) => never;

// What the same things are called in other libraries, without case and signs.
const CALLED_ELSEWHERE: Readonly<Record<string, readonly string[]>> = {
  run: ['handler', 'handle', 'execute', 'exec', 'func', 'fn', 'function', 'invoke', 'call', 'callback', 'action'],
  input: ['parameters', 'params', 'inputschema', 'argsschema', 'args', 'arguments', 'schema', 'inputs'],
  output: ['outputschema', 'returns', 'result', 'response', 'outputs'],
  name: ['id', 'toolname', 'title'],
  description: ['desc', 'summary', 'about', 'doc'],
  effects: ['sideeffects', 'effect', 'annotations', 'readonly', 'readonlyhint', 'idempotent'],
  timeoutMs: ['timeout', 'timeoutseconds', 'deadline', 'deadlinems', 'maxms'],
  retries: ['retry', 'maxretries', 'attempts', 'maxattempts'],
  env: ['environment', 'envvars', 'variables', 'secrets'],
  concurrency: ['maxconcurrency', 'parallel', 'limit'],
};

/** Refuses members that the declaration does not have, and names for each what was probably meant. */
export const checkMemberNames = (definition: object, members: readonly string[], refuse: Refuse): void => {
  const unknown = Object.keys(definition).filter((member) => !members.includes(member));
  const [first] = unknown;
  if (first === undefined) return;
  const found = unknown.map((member) => ({ member, meant: findMeant(member, members) }));
  if (found.every(({ meant }) => meant === null))
    refuse(first, `${isOrAre(unknown)} unknown to defineTool. It takes ${toList(members)}.`, toList(unknown));
  const [only] = found;
  if (found.length === 1) refuse(first, `is unknown to defineTool. Did you mean '${only?.meant}'?`, `'${first}'`);
  const shown = found.map(({ member, meant }) => `'${member}'${meant === null ? '' : ` (did you mean '${meant}'?)`}`);
  refuse(first, 'are unknown to defineTool', shown.join(', '));
};

const isOrAre = (names: readonly string[]): string => (names.length === 1 ? 'is' : 'are');

const findMeant = (member: string, members: readonly string[]): string | null => {
  const plain = toPlain(member);
  const elsewhere = members.find((known) => CALLED_ELSEWHERE[known]?.includes(plain));
  if (elsewhere !== undefined) return elsewhere;
  const reach = Math.max(1, Math.floor(plain.length / 3));
  const [near] = findNearestNames(plain, members.map(toPlain), 1, reach);
  return members.find((known) => toPlain(known) === near) ?? null;
};

const toPlain = (name: string): string => name.replace(/[^A-Za-z]/g, '').toLowerCase();

const toList = (names: readonly string[]): string => names.map((name) => `'${name}'`).join(', ');

/** Refuses what is no schema of zod 4 and no JSON Schema, and says what to write instead. */
export const checkSchema = (side: 'input' | 'output', schema: unknown, refuse: Refuse): void => {
  if (schema === undefined || schema === null)
    refuse(
      side,
      side === 'input'
        ? 'is missing. For a tool without arguments write `input: z.object({})`'
        : 'must be a schema, or omitted',
    );
  if (typeof schema !== 'object' || Array.isArray(schema))
    refuse(side, 'must be a zod schema such as `z.object({ … })`, or a JSON Schema');
  else checkSchemaObject(side, schema, refuse);
};

const checkSchemaObject = (side: 'input' | 'output', schema: object, refuse: Refuse): void => {
  if ('_zod' in schema) return;
  if ('_def' in schema)
    refuse(side, "is a schema of zod 3. Write `import { z } from 'recourse-server'`, or install zod 4");
  if ('~standard' in schema) refuse(side, 'is a schema of another library. Write a zod schema or a JSON Schema');
  const members = Object.entries(schema).filter(([, value]) => isZodLike(value));
  if (members.length === 0) return;
  const names = members.slice(0, 3).map(([name]) => `${name}: …`);
  const shape = [...names, ...(members.length > 3 ? ['…'] : [])].join(', ');
  refuse(side, `is a plain object of zod schemas. Write \`${side}: z.object({ ${shape} })\``);
};

const isZodLike = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && ('_zod' in value || '_def' in value);

/** Refuses an input that takes no object: arguments have names. */
export const checkTakesObject = ({ type }: Readonly<Record<string, unknown>>, refuse: Refuse): void => {
  if (type === undefined || type === 'object' || (Array.isArray(type) && type.includes('object'))) return;
  const found = Array.isArray(type) ? type.join(' or ') : String(type);
  refuse(
    'input',
    `must describe an object, because arguments have names, not a value of type ${found}. Write \`input: z.object({ value: … })\``,
  );
};

type Members = Readonly<Record<string, unknown>>;

/** Refuses members whose value is of another kind than they take, but for schemas and numbers. */
export const checkMembers = ({ effects, description, run, ...rest }: Members, refuse: Refuse): void => {
  if (effects !== 'read' && effects !== 'idempotent' && effects !== 'write')
    refuse('effects', `must be 'read', 'idempotent' or 'write', not ${describeType(effects)}`);
  if (typeof description !== 'string') refuse('description', `must be a string, not ${describeType(description)}`);
  if (typeof run !== 'function') refuse('run', `must be a function, not ${describeType(run)}`);
  checkOptions(rest, refuse);
};

const checkOptions = (options: Members, refuse: Refuse): void => {
  const { extractError, isolation = 'process', env = [], background = 'never' } = options;
  for (const member of ['polling', 'sequential', 'gracefulErrors'] as const)
    if (!['boolean', 'undefined'].includes(typeof options[member])) refuse(member, 'must be true or false');
  if (extractError !== undefined && typeof extractError !== 'function') refuse('extractError', 'must be a function');
  if (isolation !== 'process' && isolation !== 'own' && isolation !== 'inline')
    refuse('isolation', "must be 'process', 'own' or 'inline'");
  if (!BACKGROUND.some((kind) => kind === background)) refuse('background', "must be 'never', 'optional' or 'always'");
  if (!Array.isArray(env) || !env.every(isVariableName)) refuse('env', 'must be a list of names of variables');
};

const isVariableName = (name: unknown): boolean => typeof name === 'string' && /^[A-Za-z_]\w*$/.test(name);

const describeType = (value: unknown): string => {
  if (typeof value === 'string') return `'${value.slice(0, 60)}'`;
  return value === null ? 'null' : typeof value;
};

// Metric labels of our own; a tool of that name would share their series.
const RESERVED_NAMES: ReadonlySet<string> = new Set(['_unknown', '_other']);

/** Refuses with this text as it is. */
export type ThrowAbout = (member: string, text: string, options?: ErrorOptions) => never;

export const checkIsObject = (definition: unknown, throwAbout: ThrowAbout): void => {
  if (typeof definition !== 'object' || definition === null)
    throwAbout('name', 'defineTool takes one object: `defineTool({ name, description, effects, input, run })`.');
};

export const checkName = (name: unknown, throwAbout: ThrowAbout): void => {
  if (typeof name !== 'string' || !/^[A-Za-z0-9_.-]{1,64}$/.test(name))
    throwAbout('name', `A tool name must be 1 to 64 of A-Z a-z 0-9 _ . - but is ${JSON.stringify(name)}.`);
  if (typeof name === 'string' && RESERVED_NAMES.has(name)) throwAbout('name', `The tool name '${name}' is reserved.`);
};

/** The name as far as it is one. */
export const toNameOf = (definition: unknown): string | null =>
  typeof definition === 'object' && definition !== null && 'name' in definition && typeof definition.name === 'string'
    ? definition.name
    : null;

/** The name of an argument, or a function of the arguments as they were sent. */
export type DeclaredBreakerKey = string | ((input: Readonly<Record<string, unknown>>) => unknown);

/**
 * What a declared `breakerKey` comes to. Refused: what is neither a text nor a function, and the name of an argument
 * that the schema does not let pass.
 */
export const toBreakerKey = (
  declared: DeclaredBreakerKey | undefined,
  inputSchema: JsonSchema,
  refuse: (member: string, rule: string) => never,
): Pick<InlineTool, 'breakerKey' | 'breakerKeyOf'> => {
  if (declared === undefined) return { breakerKey: null, breakerKeyOf: null };
  if (typeof declared === 'function') return { breakerKey: null, breakerKeyOf: declared };
  if (typeof declared !== 'string' || !mayHold(inputSchema, declared))
    return refuse('breakerKey', 'must be the name of an argument, or a function of the arguments');
  const keyOf = (input: Readonly<Record<string, unknown>>): unknown =>
    Object.hasOwn(input, declared) ? input[declared] : undefined;
  return { breakerKey: declared, breakerKeyOf: keyOf };
};

const mayHold = ({ properties, patternProperties, additionalProperties }: JsonSchema, name: string): boolean =>
  additionalProperties !== false ||
  patternProperties !== undefined ||
  (typeof properties === 'object' && properties !== null && Object.hasOwn(properties, name));
