import { findNearestNames } from '../contract/nearest-names.ts';
import { isToolName } from '../contract/tool-names.ts';

/** Refuses a declaration because of one member. `sentence` says what is wrong with it, and what to write instead. */
export type Refuse = (member: string, sentence: string, options?: ErrorOptions) => never;

/** What a member must be: in words, and as a check. */
export type MemberRule = { readonly must: string; readonly fits: (value: unknown) => boolean };

export const text: MemberRule = { must: 'be a string', fits: (value) => typeof value === 'string' };
export const flag: MemberRule = { must: 'be true or false', fits: (value) => typeof value === 'boolean' };
export const callable: MemberRule = { must: 'be a function', fits: (value) => typeof value === 'function' };
/** Has a check of its own. */
export const anything: MemberRule = { must: '', fits: () => true };

export const optional = (rule: MemberRule): MemberRule => ({
  must: rule.must,
  fits: (value) => value === undefined || rule.fits(value),
});

export const oneOf = (values: readonly string[]): MemberRule => {
  const quoted = values.map((value) => `'${value}'`);
  return {
    must: `be ${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}`,
    fits: (value) => typeof value === 'string' && values.includes(value),
  };
};

export const whole = (least: number, most = Number.MAX_SAFE_INTEGER): MemberRule => ({
  must: `be a whole number from ${least} to ${most}`,
  fits: (value) => Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most,
});

// Metric labels of the service: a tool with such a name would share their series.
const RESERVED_NAMES: ReadonlySet<string> = new Set(['_unknown', '_other']);

export const toolName: MemberRule = {
  must: 'be 1 to 64 of A-Z a-z 0-9 _ . - (_unknown and _other are reserved)',
  fits: (name) => typeof name === 'string' && isToolName(name) && !RESERVED_NAMES.has(name),
};

export const variableNames: MemberRule = {
  must: 'be a list of names of variables',
  fits: (names) =>
    Array.isArray(names) && names.every((name) => typeof name === 'string' && /^[A-Za-z_]\w*$/.test(name)),
};

type MemberRules = Readonly<Record<string, MemberRule>>;

/** Refuses a definition with a member that has no rule. */
export const checkMemberNames = (definition: object, rules: MemberRules, refuse: Refuse): void => {
  const unknown = Object.keys(definition).find((member) => !Object.hasOwn(rules, member));
  if (unknown !== undefined) refuse(unknown, explainUnknown(unknown, Object.keys(rules)));
};

/** Refuses a definition with a member that does not fit its rule. */
export const checkMembers = (definition: object, rules: MemberRules, refuse: Refuse): void => {
  for (const [member, { must, fits }] of Object.entries(rules)) {
    const value: unknown = Reflect.get(definition, member);
    if (!fits(value)) refuse(member, `${member} must ${must}, not ${describe(value)}.`);
  }
};

const describe = (value: unknown): string => {
  if (typeof value === 'string') return `'${value.slice(0, 80)}'`;
  return typeof value === 'number' || value === null ? String(value) : typeof value;
};

// What other libraries call the same members, without case and signs.
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

const explainUnknown = (unknown: string, members: readonly string[]): string => {
  const plain = unknown.replace(/[^A-Za-z]/g, '').toLowerCase();
  const meant =
    members.find((member) => CALLED_ELSEWHERE[member]?.includes(plain)) ?? findNearestNames(plain, members, 1)[0];
  const advice = meant === undefined ? `It takes ${members.join(', ')}.` : `Did you mean '${meant}'?`;
  return `'${unknown}' is unknown to defineTool. ${advice}`;
};

/** Refuses what is no schema of zod 4 and no JSON Schema, and says what to write instead. */
export const checkSchema = (side: 'input' | 'output', schema: unknown, refuse: Refuse): void => {
  if (schema === undefined)
    refuse(side, `${side} is missing. For a tool without arguments write \`input: z.object({})\`.`);
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema))
    refuse(side, `${side} must be a zod schema such as \`z.object({ … })\`, or a JSON Schema.`);
  if ('_zod' in schema) return;
  if ('_def' in schema)
    refuse(side, `${side} is a schema of zod 3. Write \`import { z } from 'recourse-server'\`, or install zod 4.`);
  if ('~standard' in schema)
    refuse(side, `${side} is a schema of another library. Write a zod schema or a JSON Schema.`);
  const names = Object.entries(schema).flatMap(([name, value]) => (isZodLike(value) ? [`${name}: …`] : []));
  if (names.length === 0) return;
  const shape = [...names.slice(0, 3), ...(names.length > 3 ? ['…'] : [])].join(', ');
  refuse(side, `${side} is a plain object of zod schemas. Write \`${side}: z.object({ ${shape} })\`.`);
};

const isZodLike = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && ('_zod' in value || '_def' in value);

/** Refuses an input schema that takes no object: arguments have names. */
export const checkTakesObject = ({ type }: Readonly<Record<string, unknown>>, refuse: Refuse): void => {
  const types = [type].flat();
  if (type === undefined || types.includes('object')) return;
  refuse(
    'input',
    `input must describe an object, because arguments have names, not a value of type ${types.join(' or ')}. Write \`input: z.object({ value: … })\`.`,
  );
};
