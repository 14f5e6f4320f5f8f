import { isRecord, type JsonRecord, memberOf, recordAt, textsAt } from 'recourse-server/contract/json-record';
import type { JsonSchema } from 'recourse-server/contract/tool-description';
import type { Issue } from 'recourse-server/contract/tool-result';
import { describeValue } from 'recourse-server/tools/describe-value';
import { createExampleArguments, findReferred } from 'recourse-server/tools/json-schema';
import type { InlineTool, Prepared, Tool } from 'recourse-server/tools/tool';
import type { EffectIdPlace } from 'recourse-server/tools/tool-override';

/**
 * The tool whose calls carry their effect ids in the place that the operator names. An argument is no part of the schema any more,
 * is refused from callers, and is filled in once what they sent has passed. A text: why the place does not fit the tool, and what
 * to write instead.
 */
export const placeEffectId = (tool: Tool, { argument, header }: EffectIdPlace): Tool | string => {
  const { prepareWithEffectId: means } = tool.runsIn === 'service' ? tool : {};
  if (tool.runsIn === 'host' || means === undefined)
    return 'it is written in code: use context.effectId in its code, and remove effectId here.';
  if (argument !== undefined) return fillArgument(tool, means, argument);
  const prepare =
    means.inHeader?.(header ?? '') ?? 'only operations of OpenAPI imports send headers: name an argument.';
  return typeof prepare === 'string' ? prepare : { ...tool, prepare };
};

type Path = readonly string[];

const fillArgument = (
  tool: InlineTool,
  { inArgument }: NonNullable<InlineTool['prepareWithEffectId']>,
  pointer: string,
): InlineTool | string => {
  const path = pointer.slice(1).split('/').map(unescapeStep);
  const { $schema: dialect, ...declared } = tool.inputSchema;
  const { schema, problem } = removeMember(declared, path, declared);
  if (problem !== null) return `argument ${pointer}: ${problem}`;
  const prepare = attempt(() => inArgument(schema, (checked, effectId) => fillIn(checked, path, effectId)));
  if (prepare === null)
    return `argument ${pointer}: the schema cannot be compiled without it: other parts of it may refer to it. ${ANOTHER}`;
  return {
    ...tool,
    inputSchema: dialect === undefined ? schema : { $schema: dialect, ...schema },
    exampleArguments: createExampleArguments(schema),
    prepare: (input) => {
      const prepared = prepare(removeValue(input, path));
      return prepared instanceof Promise
        ? prepared.then((one) => refuseValue(one, input, path))
        : refuseValue(prepared, input, path);
    },
  };
};

// Another part of a server's schema may refer to what is taken out, in any of the ways that the validator knows.
const attempt = <Value>(make: () => Value): Value | null => {
  try {
    return make();
  } catch (_notCompiled) {
    return null;
  }
};

const unescapeStep = (step: string): string => step.replaceAll('~1', '/').replaceAll('~0', '~');

const ANOTHER = 'Name another argument.';

/** A schema without the member under a path, or why it has no such place. */
type Removed = { readonly schema: JsonSchema; readonly problem: string | null };

// Each may make a member depend on others, or others on it.
const RELATIONS = ['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else', 'dependentRequired', 'dependentSchemas'];
const COUNT = 'minProperties';

const removeMember = (schema: JsonSchema, [name = '', ...rest]: Path, root: JsonSchema): Removed => {
  const own = followReference(schema, root);
  if (own === null) return { schema, problem: `the reference above '${name}' cannot be followed. ${ANOTHER}` };
  const problem = findUnfit(own, name);
  if (problem !== null) return { schema, problem };
  const members = recordAt(own, 'properties');
  const member = memberOf(members, name);
  if (rest.length > 0) {
    if (!isRecord(member)) return { schema, problem: null };
    const below = removeMember(member, rest, root);
    return { ...below, schema: { ...own, properties: { ...members, [name]: below.schema } } };
  }
  const { [name]: _taken, ...properties } = members;
  const { required: _demanded, ...open } = own;
  const required = textsAt(own, 'required').filter((one) => one !== name);
  return { schema: { ...open, properties, ...(required.length === 0 ? {} : { required }) }, problem: null };
};

/** Why the member of an object with this schema cannot be filled in; null where it can. */
const findUnfit = (schema: JsonSchema, name: string): string | null => {
  const types = [schema['type'] ?? ('items' in schema || 'prefixItems' in schema ? 'array' : 'object')].flat();
  if (!types.includes('object'))
    return `what is above '${name}' is no object but of type ${types.join(' or ')}. ${ANOTHER}`;
  const relation = COUNT in schema ? COUNT : RELATIONS.find((word) => word in schema && mentions(schema[word], name));
  if (relation !== undefined) return `${relation} of the schema decides about '${name}', too. ${ANOTHER}`;
  const members = recordAt(schema, 'properties');
  return Object.hasOwn(members, name) || admitsOthers(schema) ? null : explainMissing(name, members);
};

const MOST_REFERENCES = 20;
const TEXTS: ReadonlySet<string> = new Set(['title', 'description']);

/** What a reference leads to, with what stands beside it; the schema itself where it has none, null where that leads nowhere. */
const followReference = (schema: JsonSchema, root: JsonSchema): JsonSchema | null => {
  let own = schema;
  for (let count = 0; count < MOST_REFERENCES; count += 1) {
    const { $ref: reference, ...beside } = own;
    if (reference === undefined) return own;
    const [target] = findReferred(reference, root);
    // Both hold: only where no keyword is in both do they make one schema.
    if (target === undefined || Object.keys(beside).some((word) => word in target && !TEXTS.has(word))) return null;
    own = { ...target, ...beside };
  }
  return null;
};

// What a reference within leads to is not looked at: it may.
const mentions = (value: unknown, name: string): boolean => {
  const text = JSON.stringify(value);
  return text.includes(JSON.stringify(name)) || text.includes('"$ref"');
};

const admitsOthers = (schema: JsonSchema): boolean =>
  schema['additionalProperties'] !== false && schema['unevaluatedProperties'] !== false;

const MOST_SHOWN = 20;

const explainMissing = (name: string, members: JsonRecord): string => {
  const names = Object.keys(members).slice(0, MOST_SHOWN).join(', ');
  return `the schema has no '${name}' and admits no others. Name one that it has: ${names === '' ? 'there are none' : names}.`;
};

/** The holder with the effect id under the path; objects that are not there are made. */
const fillIn = (holder: JsonRecord, [name = '', ...rest]: Path, effectId: string): JsonRecord => ({
  ...holder,
  [name]: rest.length === 0 ? effectId : fillIn(recordAt(holder, name), rest, effectId),
});

/** The input without what it has under the path; the same object where it has nothing there. */
const removeValue = (input: JsonRecord, [name = '', ...rest]: Path): JsonRecord => {
  if (!Object.hasOwn(input, name)) return input;
  const { [name]: value, ...others } = input;
  if (rest.length === 0) return others;
  if (!isRecord(value)) return input;
  const below = removeValue(value, rest);
  return below === value ? input : { ...input, [name]: below };
};

/** Refuses what a caller sent where the effect id belongs, beside what else is wrong; and what is no object above it. */
const refuseValue = (prepared: Prepared, input: JsonRecord, path: Path): Prepared => {
  const issue = findIssue(input, path);
  if (issue === null || (!prepared.ok && issue.expected !== NOTHING)) return prepared;
  return { ok: false, issues: [issue, ...(prepared.ok ? [] : prepared.issues)] };
};

const NOTHING = 'nothing';

const findIssue = (input: JsonRecord, path: Path): Issue | null => {
  let holder: unknown = input;
  for (const [place, name] of path.entries()) {
    const value = memberOf(holder, name);
    if (value === undefined) return null;
    const isLast = place === path.length - 1;
    if (isLast || !isRecord(value)) return writeIssue(path.slice(0, place + 1), value, isLast ? NOTHING : 'an object');
    holder = value;
  }
  return null;
};

const writeIssue = (path: Path, value: unknown, expected: string): Issue => ({
  path: path.join('.'),
  expected,
  received: describeValue(value, 'hide'),
  message:
    expected === NOTHING
      ? 'the service fills it in: leave it out'
      : 'must be an object: the service fills in a member of it',
});
