import type { ErrorObject } from 'ajv';
import type * as z from 'zod';
import { withArticle } from './describe-value.ts';

const count = (number: unknown, noun: string): string => `${String(number)} ${noun}${Number(number) === 1 ? '' : 's'}`;

/** What a value is expected to be by a rule of JSON Schema, in the words that zod's rules get as well. */
const RULES = {
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
} as const satisfies Readonly<Record<string, (value: string) => string>>;

type Rule = keyof typeof RULES;
const isRule = (keyword: string): keyword is Rule => Object.hasOwn(RULES, keyword);

/** What an error of Ajv expects; null where it has no words of ours. */
export const toAjvRule = ({ keyword, params }: ErrorObject): string | null => {
  if (keyword === 'oneOf' && params['passingSchemas'] === null) return RULES.anyOf();
  if (!isRule(keyword)) return null;
  const value = String(params['limit'] ?? params[keyword]);
  return RULES[keyword](keyword === 'pattern' ? `/${value}/` : value);
};

/** What an issue of zod expects; null where it has no words of ours. */
export const toZodRule = (issue: z.core.$ZodRawIssue): string | null => {
  switch (issue.code) {
    case 'too_big':
      return toBound(issue.origin, issue.inclusive === false ? TOO_BIG_EXCLUSIVE : TOO_BIG, issue.maximum);
    case 'too_small':
      return toBound(issue.origin, issue.inclusive === false ? TOO_SMALL_EXCLUSIVE : TOO_SMALL, issue.minimum);
    case 'not_multiple_of':
      return RULES.multipleOf(String(issue.divisor));
    case 'invalid_union':
      return RULES.anyOf();
    case 'invalid_format':
      return toFormat(issue.format, typeof issue['pattern'] === 'string' ? issue['pattern'] : undefined);
    default:
      return null;
  }
};

type Bounds = Readonly<Record<string, Rule>>;
const numbers = (rule: Rule): Bounds => ({ number: rule, int: rule });
const TOO_BIG: Bounds = { ...numbers('maximum'), string: 'maxLength', array: 'maxItems' };
const TOO_BIG_EXCLUSIVE: Bounds = numbers('exclusiveMaximum');
const TOO_SMALL: Bounds = { ...numbers('minimum'), string: 'minLength', array: 'minItems' };
const TOO_SMALL_EXCLUSIVE: Bounds = numbers('exclusiveMinimum');

const toBound = (origin: string, bounds: Bounds, limit: unknown): string | null => {
  const rule = bounds[origin];
  return rule === undefined ? null : RULES[rule](String(limit));
};

// What zod calls otherwise than JSON Schema.
const FORMATS: ReadonlyMap<string, string> = new Map([
  ['datetime', 'date-time'],
  ['url', 'uri'],
]);
// Beginnings, ends and parts of a text: zod's words say which.
const OWN_WORDS: ReadonlySet<string> = new Set(['starts_with', 'ends_with', 'includes', 'lowercase', 'uppercase']);

const toFormat = (format: string, pattern: string | undefined): string | null => {
  if (OWN_WORDS.has(format)) return null;
  if (format === 'regex') return pattern === undefined ? null : RULES.pattern(pattern);
  return RULES.format(FORMATS.get(format) ?? format);
};

// zod's names for types of JSON.
const TYPES: ReadonlyMap<string, string> = new Map([
  ['int', 'integer'],
  ['record', 'object'],
  ['tuple', 'array'],
]);

/** "an integer": a type by the name that JSON Schema has for it. */
export const toTypeText = (type: string): string => withArticle(TYPES.get(type) ?? type);
