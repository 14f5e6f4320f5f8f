import type { ErrorObject } from 'ajv';
import * as z from 'zod';
import { isRecord } from '../contract/json-record.ts';
import type { JsonSchema } from '../contract/tool-description.ts';
import type { Issue } from '../contract/tool-result.ts';
import { cutText, describeValue, withLookahead } from './describe-value.ts';
import { isSensitive, namesAt, propertiesOf, referredBy } from './json-schema.ts';
import { toAjvRule, toTypeText, toZodRule } from './rule-words.ts';

const MISSING = 'required parameter missing';

// Eighty thousand bad items are one mistake. Those past the hundredth are counted, not worded: each would take the
// memory of its whole path.
const MAX_WORDED = 100;
const COUNTED: Issue = { path: '', expected: '', received: '', message: 'further unknown parameters' };
// A secret that a caller writes as a name is still whole where secrets are taken out.
const MAX_STEP_LENGTH = 512;
// Of what a rule of the tool says.
const MAX_RULE_LENGTH = 300;
// Names of the schema itself: a schema with more required parameters has words made anew for the others.
const MAX_MISSING = 200;

type Path = readonly PropertyKey[];

/** Whether the issue says that a required parameter is not there. */
export const isMissing = (issue: Issue): boolean => issue.message === MISSING;

const toValueAt = (input: unknown, path: Path): unknown => {
  let value = input;
  for (const step of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
    value = Reflect.get(value, step);
  }
  return value;
};

const toStepText = (step: PropertyKey): string => cutText(String(step), MAX_STEP_LENGTH);
const toPathText = (path: Path): string => {
  const [only] = path;
  return path.length === 1 && only !== undefined ? toStepText(only) : path.map(toStepText).join('.');
};

const toAccepted = (names: readonly string[]): string => (names.length === 0 ? 'none' : cutText(names.join(', '), 300));

/** The names that a closed schema lets in, and patterns of them. */
const namesOf = (schema: JsonSchema): readonly string[] => {
  const { patternProperties: patterns } = schema;
  return [...propertiesOf(schema).keys(), ...Object.keys(isRecord(patterns) ? patterns : {}).map((one) => `/${one}/`)];
};

/** The words for what is wrong with values of one schema. Words that tell nothing of a value are made once. */
class IssueWords {
  readonly #schema: JsonSchema;
  readonly #missing = new Map<string, { readonly source: unknown; readonly issue: Issue }>();
  #accepted: string | null = null;
  #last: readonly Issue[] = [];

  constructor(schema: JsonSchema) {
    this.#schema = schema;
  }

  /** `expected` is what should be there instead. */
  mismatch(path: Path, expected: string, input: unknown): Issue {
    const value = toValueAt(input, path);
    const received = this.#describe(path, value);
    const isAbsent = path.length > 0 && value === undefined;
    const message = isAbsent ? MISSING : `expected ${expected}, got ${received}`;
    return { path: toPathText(path), expected, received, message };
  }

  /** `rule` is what the schema's library or its author says of a rule that is broken. */
  broken(path: Path, rule: string, input: unknown): Issue {
    const value = toValueAt(input, path);
    const message = path.length > 0 && value === undefined ? MISSING : withLookahead(rule, MAX_RULE_LENGTH);
    return { path: toPathText(path), expected: rule, received: this.#describe(path, value), message };
  }

  /** `refusing`: a pointer to the schema that lets no others in, where it is known. */
  unknownParameter(path: Path, input: unknown, refusing?: string): Issue {
    const received = this.#describe(path, toValueAt(input, path));
    const message = `unknown parameter; accepted: ${this.#acceptedAt(path, refusing)}`;
    return { path: toPathText(path), expected: 'no such parameter', received, message };
  }

  /** Of a parameter of the whole. `source` is what the words for what is expected are made of. */
  missing<Source>(name: string, source: Source, toExpected: (source: Source) => string): Issue {
    const cached = this.#missing.get(name);
    if (cached?.source === source) return cached.issue;
    const issue = {
      path: toStepText(name),
      expected: toExpected(source),
      received: describeValue(undefined),
      message: MISSING,
    };
    if (cached !== undefined || this.#missing.size < MAX_MISSING) this.#missing.set(name, { source, issue });
    return issue;
  }

  /** The same list again where the same parameters are missing as the last time: what is made of it is made once, too. */
  share(issues: readonly Issue[]): readonly Issue[] {
    const last = this.#last;
    if (issues.length === last.length && issues.every((issue, place) => issue === last[place])) return last;
    if (issues.every((issue) => this.#missing.get(issue.path)?.issue === issue)) this.#last = issues;
    return issues;
  }

  #describe(path: Path, value: unknown): string {
    return describeValue(value, isSensitive(this.#schema, path) ? 'hide' : 'show');
  }

  #acceptedAt(path: Path, refusing: string | undefined): string {
    const [closed] = refusing === undefined ? [] : referredBy(decodeURIComponent(refusing), this.#schema);
    if (closed !== undefined && closed !== this.#schema) return toAccepted(namesOf(closed));
    if (path.length > 1) return toAccepted(namesAt(this.#schema, path.slice(0, -1)));
    this.#accepted ??= toAccepted(closed === undefined ? namesAt(this.#schema, []) : namesOf(closed));
    return this.#accepted;
  }
}

const toJsonList = (values: readonly unknown[]): string =>
  values.length === 1 ? JSON.stringify(values[0]) : `one of ${values.map((value) => JSON.stringify(value)).join(', ')}`;

/**
 * Puts zod's issues into our words: as many issues as there are problems; only the first hundred have words of their own.
 * `further`: how many unknown parameters zod did not see, which had a hundred others to tell of.
 */
export const createZodWords = (schema: JsonSchema) => {
  const words = new IssueWords(schema);
  return (found: readonly z.core.$ZodRawIssue[], input: unknown, further: number): readonly Issue[] => {
    const issues: Issue[] = [];
    for (const issue of found) {
      if (issue.code === 'unrecognized_keys') addUnknown(issue, input, words, issues);
      else issues.push(issues.length < MAX_WORDED ? toZodIssue(issue, input, words) : COUNTED);
    }
    addCounted(further, issues);
    return words.share(issues);
  };
};

const addCounted = (further: number, issues: Issue[]): void => {
  for (let count = 0; count < further; count += 1) issues.push(COUNTED);
};

type ZodUnknown = { readonly keys: readonly string[]; readonly path?: Path | undefined };

const addUnknown = ({ keys, path = NO_PATH }: ZodUnknown, input: unknown, words: IssueWords, issues: Issue[]): void => {
  for (const key of keys)
    issues.push(issues.length < MAX_WORDED ? words.unknownParameter([...path, key], input) : COUNTED);
};

const NO_PATH: Path = [];

const toZodIssue = (issue: z.core.$ZodRawIssue, input: unknown, words: IssueWords): Issue => {
  const { path = NO_PATH } = issue;
  const name = toMissingName(path, input);
  if (issue.code === 'invalid_type')
    return name === null
      ? words.mismatch(path, toTypeText(issue.expected), input)
      : words.missing(name, issue.expected, toTypeText);
  if (issue.code === 'invalid_value')
    return name === null
      ? words.mismatch(path, toJsonList(issue.values), input)
      : words.missing(name, issue.values, toJsonList);
  // Of the others alone zod's own message is read, which takes longer to make than all words of ours. What the tool's
  // author says of a rule stands.
  const rule = toZodRule(issue);
  const config = z.core.config();
  const { message } = z.core.util.finalizeIssue(
    issue,
    undefined,
    rule === null ? config : { ...config, localeError: () => rule },
  );
  return message === rule ? words.mismatch(path, rule, input) : words.broken(path, message, input);
};

/** The name of the parameter of the whole that is not there; null where it is, or is further inside. */
const toMissingName = (path: Path, input: unknown): string | null => {
  const [name] = path;
  return path.length === 1 && typeof name === 'string' && toValueAt(input, path) === undefined ? name : null;
};

/** The steps of a JSON Pointer into a value: numbers within lists, names within objects. */
export const toPointerPath = (pointer: string, input: unknown): Path => {
  if (pointer === '') return NO_PATH;
  const steps = pointer.split('/').slice(1);
  const path: PropertyKey[] = [];
  for (const step of steps) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
    path.push(Array.isArray(toValueAt(input, path)) ? Number(name) : name);
  }
  return path;
};

const A_VALUE = 'a value';
const same = (text: string): string => text;

const toAjvIssue = (error: ErrorObject, input: unknown, words: IssueWords): Issue => {
  const path = toPointerPath(error.instancePath, input);
  switch (error.keyword) {
    case 'required': {
      const name = String(error.params['missingProperty']);
      const isOfWhole = toMissingName([...path, name], input) !== null;
      return isOfWhole ? words.missing(name, A_VALUE, same) : words.mismatch([...path, name], A_VALUE, input);
    }
    case 'additionalProperties': {
      const refusing = error.schemaPath.slice(0, -'/additionalProperties'.length);
      return words.unknownParameter([...path, String(error.params['additionalProperty'])], input, refusing);
    }
    case 'unevaluatedProperties':
      return words.unknownParameter([...path, String(error.params['unevaluatedProperty'])], input);
    case 'type':
      return words.mismatch(path, [error.params['type']].flat().map(String).map(toTypeText).join(' or '), input);
    case 'enum':
      return words.mismatch(path, toJsonList([error.params['allowedValues']].flat()), input);
    case 'const':
      return words.mismatch(path, toJsonList([error.params['allowedValue']]), input);
    default: {
      const rule = toAjvRule(error);
      return rule === null
        ? words.broken(path, error.message ?? error.keyword, input)
        : words.mismatch(path, rule, input);
    }
  }
};

/** Puts Ajv's errors into our words, likewise. */
export const createAjvWords = (schema: JsonSchema) => {
  const words = new IssueWords(schema);
  return (errors: readonly ErrorObject[], input: unknown): readonly Issue[] =>
    words.share(errors.map((error, place) => (place < MAX_WORDED ? toAjvIssue(error, input, words) : COUNTED)));
};
