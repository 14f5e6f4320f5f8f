import type { ErrorObject } from 'ajv';
import * as z from 'zod';
import { isRecord, memberOf } from '../contract/json-record.ts';
import type { JsonSchema } from '../contract/tool-description.ts';
import type { Issue } from '../contract/tool-result.ts';
import { cutText, describeValue, withArticle, withLookahead } from './describe-value.ts';
import { findReferred, isSensitive, namesAt, propertiesOf } from './json-schema.ts';

const MISSING = 'required parameter missing';

// Eighty thousand bad items are one mistake. Those past the hundredth are counted, not worded: each would take the
// memory of its whole path.
const MAX_WORDED = 100;
const COUNTED: Issue = { path: '', expected: '', received: '', message: 'further unknown parameters' };
// A secret that a caller writes as a name is still whole where secrets are taken out.
const MAX_STEP_LENGTH = 512;
// Of what a rule of the tool says.
const MAX_RULE_LENGTH = 300;
const MAX_ACCEPTED_LENGTH = 300;
// What is shared between calls.
const MAX_SHARED_MISSING = 200;
const MAX_SHARED_LIST = 4;

type Path = readonly PropertyKey[];

/** Whether the issue says that a required parameter is not there. */
export const isMissing = (issue: Issue): boolean => issue.message === MISSING;

const count = (number: unknown, noun: string): string => `${String(number)} ${noun}${Number(number) === 1 ? '' : 's'}`;
const writeList = (values: unknown): string => {
  const texts = [values].flat().map((value) => JSON.stringify(value));
  return texts.length === 1 ? String(texts[0]) : `one of ${texts.join(', ')}`;
};

// zod's names for types of JSON.
const TYPES: ReadonlyMap<unknown, string> = new Map([
  ['int', 'integer'],
  ['record', 'object'],
  ['tuple', 'array'],
]);

/** What a value is expected to be by a rule of JSON Schema. zod's rules are put into the same words. */
const EXPECTED = {
  type: (types) =>
    [types]
      .flat()
      .map((type) => withArticle(TYPES.get(type) ?? String(type)))
      .join(' or '),
  enum: writeList,
  const: (value) => writeList([value]),
  maximum: (limit) => `a number of at most ${limit}`,
  exclusiveMaximum: (limit) => `a number below ${limit}`,
  minimum: (limit) => `a number of at least ${limit}`,
  exclusiveMinimum: (limit) => `a number above ${limit}`,
  multipleOf: (step) => `a multiple of ${step}`,
  maxLength: (limit) => `a string of at most ${count(limit, 'character')}`,
  minLength: (limit) => `a string of at least ${count(limit, 'character')}`,
  maxItems: (limit) => `an array of at most ${count(limit, 'item')}`,
  minItems: (limit) => `an array of at least ${count(limit, 'item')}`,
  maxProperties: (limit) => `an object of at most ${count(limit, 'member')}`,
  minProperties: (limit) => `an object of at least ${count(limit, 'member')}`,
  pattern: (pattern) => `a string that matches ${pattern}`,
  format: (format) => `a string of the format '${format}'`,
  uniqueItems: (equal) => `an array of different items (${equal} are equal)`,
  anyOf: () => 'a value that one of the alternatives allows',
  oneOf: () => 'a value that only one of the alternatives allows',
  not: () => 'a value that the schema under `not` does not allow',
} as const satisfies Readonly<Record<string, (value: unknown) => string>>;

const isRule = (keyword: string): keyword is keyof typeof EXPECTED => Object.hasOwn(EXPECTED, keyword);

/** What an error of Ajv expects; null for a rule without words of ours. */
const explainAjvRule = ({ keyword, params }: ErrorObject): string | null => {
  if (keyword === 'oneOf' && params['passingSchemas'] === null) return EXPECTED.anyOf();
  if (!isRule(keyword)) return null;
  if (keyword === 'pattern') return EXPECTED.pattern(`/${params['pattern']}/`);
  const { allowedValues = params['allowedValue'], limit = allowedValues } = params;
  return EXPECTED[keyword](limit ?? params[keyword]);
};

const NUMBERS = { maximum: 'maximum', minimum: 'minimum' } as const;
const LIMITS: Readonly<
  Record<string, { readonly maximum: keyof typeof EXPECTED; readonly minimum: keyof typeof EXPECTED }>
> = {
  number: NUMBERS,
  int: NUMBERS,
  string: { maximum: 'maxLength', minimum: 'minLength' },
  array: { maximum: 'maxItems', minimum: 'minItems' },
};
// What zod calls otherwise than JSON Schema.
const FORMATS: ReadonlyMap<string, string> = new Map([
  ['datetime', 'date-time'],
  ['url', 'uri'],
]);
// Beginnings, ends and parts of a text: zod's words say which.
const ZOD_FORMATS: ReadonlySet<string> = new Set(['starts_with', 'ends_with', 'includes', 'lowercase', 'uppercase']);

/** What an issue of zod expects; null for a rule without words of ours. */
const explainZodRule = (issue: z.core.$ZodRawIssue): string | null => {
  switch (issue.code) {
    case 'too_big':
      if (issue.inclusive === false) return EXPECTED.exclusiveMaximum(issue.maximum);
      return explainLimit(LIMITS[issue.origin]?.maximum, issue.maximum);
    case 'too_small':
      if (issue.inclusive === false) return EXPECTED.exclusiveMinimum(issue.minimum);
      return explainLimit(LIMITS[issue.origin]?.minimum, issue.minimum);
    case 'not_multiple_of':
      return EXPECTED.multipleOf(issue.divisor);
    case 'invalid_union':
      return EXPECTED.anyOf();
    case 'invalid_format':
      return explainFormat(issue.format, issue['pattern']);
    default:
      return null;
  }
};

const explainFormat = (format: string, pattern: unknown): string | null => {
  if (format === 'regex') return pattern === undefined ? null : EXPECTED.pattern(pattern);
  return ZOD_FORMATS.has(format) ? null : EXPECTED.format(FORMATS.get(format) ?? format);
};

const explainLimit = (rule: keyof typeof EXPECTED | undefined, limit: unknown): string | null =>
  rule === undefined ? null : EXPECTED[rule](limit);

/** The value under a path; undefined where there is none. */
export const valueAt = (value: unknown, path: Path): unknown =>
  path.reduce((holder: unknown, step) => memberOf(holder, String(step)), value);

/** Words what is wrong with values of one schema. What says nothing of a value is made once, and shared between calls. */
class IssueWriter {
  readonly #schema: JsonSchema;
  readonly #missing = new Map<string, Issue>();
  #last: readonly Issue[] = [];

  constructor(schema: JsonSchema) {
    this.#schema = schema;
  }

  /** `expected`: what should be there instead. `rule`: what an author says of a rule, where those words stand instead of ours. */
  write(path: Path, input: unknown, expected: string, rule?: string): Issue {
    const value = valueAt(input, path);
    if (path.length > 0 && value === undefined) return this.#writeMissing(path, expected);
    const received = this.#describe(path, value);
    const message = rule === undefined ? `expected ${expected}, got ${received}` : withLookahead(rule, MAX_RULE_LENGTH);
    return { path: writePath(path), expected, received, message };
  }

  /** `refusing`: a pointer to the schema that accepts no others, where it is known. */
  writeUnknown(path: Path, input: unknown, refusing?: string): Issue {
    const [closed] = refusing === undefined ? [] : findReferred(decodeURIComponent(refusing), this.#schema);
    const names = closed === undefined ? namesAt(this.#schema, path.slice(0, -1)) : listAccepted(closed);
    const accepted = names.length === 0 ? 'none' : cutText(names.join(', '), MAX_ACCEPTED_LENGTH);
    const received = this.#describe(path, valueAt(input, path));
    const message = `unknown parameter; accepted: ${accepted}`;
    return { path: writePath(path), expected: 'no such parameter', received, message };
  }

  /** The last list again where the same issues come again: what the caller makes of it is made once, too. */
  share(issues: readonly Issue[]): readonly Issue[] {
    const last = this.#last;
    if (issues.length === last.length && issues.every((issue, place) => issue === last[place])) return last;
    if (issues.length <= MAX_SHARED_LIST) this.#last = issues;
    return issues;
  }

  #writeMissing(path: Path, expected: string): Issue {
    const name = writePath(path);
    const cached = path.length === 1 ? this.#missing.get(name) : undefined;
    if (cached?.expected === expected) return cached;
    const issue = { path: name, expected, received: describeValue(undefined), message: MISSING };
    if (path.length === 1 && this.#missing.size < MAX_SHARED_MISSING) this.#missing.set(name, issue);
    return issue;
  }

  #describe(path: Path, value: unknown): string {
    return describeValue(value, isSensitive(this.#schema, path) ? 'hide' : 'show');
  }
}

const writePath = (path: Path): string => path.map((step) => cutText(String(step), MAX_STEP_LENGTH)).join('.');

/** The names that a closed schema accepts, and patterns of them. */
const listAccepted = (schema: JsonSchema): readonly string[] => {
  const { patternProperties: patterns } = schema;
  return [...propertiesOf(schema).keys(), ...Object.keys(isRecord(patterns) ? patterns : {}).map((one) => `/${one}/`)];
};

const NO_PATH: Path = [];

/** Words zod's issues: as many issues as there are problems; only the first hundred have words of their own. */
export const createZodIssues = (schema: JsonSchema) => {
  const writer = new IssueWriter(schema);
  return (found: readonly z.core.$ZodRawIssue[], input: unknown): readonly Issue[] =>
    writer.share(writeZodIssues(found, input, writer));
};

const writeZodIssues = (
  found: readonly z.core.$ZodRawIssue[],
  input: unknown,
  writer: IssueWriter,
): readonly Issue[] => {
  const issues: Issue[] = [];
  for (const issue of found)
    for (const unknown of issue.code === 'unrecognized_keys' ? issue.keys : [null])
      issues.push(issues.length < MAX_WORDED ? writeZodIssue(issue, unknown, input, writer) : COUNTED);
  return issues;
};

const writeZodIssue = (
  issue: z.core.$ZodRawIssue,
  unknown: string | null,
  input: unknown,
  writer: IssueWriter,
): Issue => {
  const { path = NO_PATH } = issue;
  if (unknown !== null) return writer.writeUnknown([...path, unknown], input);
  if (issue.code === 'invalid_type') return writer.write(path, input, EXPECTED.type(issue.expected));
  if (issue.code === 'invalid_value') return writer.write(path, input, EXPECTED.enum(issue.values));
  // Of the others alone zod's own message is read, which takes longer to make than all words of ours. What the tool's
  // author says of a rule stands.
  const expected = explainZodRule(issue);
  const own = expected === null ? {} : { localeError: () => expected };
  const { message } = z.core.util.finalizeIssue(issue, undefined, { ...z.core.config(), ...own });
  return message === expected ? writer.write(path, input, expected) : writer.write(path, input, message, message);
};

/** The steps of a JSON Pointer into a value: numbers within lists, names within objects. */
export const readPointer = (pointer: string, input: unknown): Path => {
  if (pointer === '') return NO_PATH;
  let holder = input;
  return pointer
    .slice(1)
    .split('/')
    .map((step) => {
      const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
      const isItem = Array.isArray(holder);
      holder = memberOf(holder, name);
      return isItem ? Number(name) : name;
    });
};

/** Words Ajv's errors, likewise. */
export const createAjvIssues = (schema: JsonSchema) => {
  const writer = new IssueWriter(schema);
  return (errors: readonly ErrorObject[], input: unknown): readonly Issue[] =>
    writer.share(errors.map((error, place) => (place < MAX_WORDED ? writeAjvIssue(error, input, writer) : COUNTED)));
};

const writeAjvIssue = (error: ErrorObject, input: unknown, writer: IssueWriter): Issue => {
  const { keyword, params, message = keyword } = error;
  const path = readPointer(error.instancePath, input);
  if (keyword === 'required') return writer.write([...path, String(params['missingProperty'])], input, 'a value');
  if (keyword === 'unevaluatedProperties')
    return writer.writeUnknown([...path, String(params['unevaluatedProperty'])], input);
  if (keyword === 'additionalProperties') {
    const refusing = error.schemaPath.slice(0, -'/additionalProperties'.length);
    return writer.writeUnknown([...path, String(params['additionalProperty'])], input, refusing);
  }
  const expected = explainAjvRule(error);
  return expected === null ? writer.write(path, input, message, message) : writer.write(path, input, expected);
};
