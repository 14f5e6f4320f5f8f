import type * as z from 'zod';
import type { ValuePath } from './mistake.ts';

/** What is wrong with a value, in plain words: what would be right there. Holds nothing of the value. */
export const toIssueText = (issue: z.core.$ZodIssue, path: ValuePath, value: unknown): string => {
  if (value === undefined) return toMissing(issue);
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${toKind(issue, path, value)}`;
    case 'invalid_value':
      return `must be ${toChoice(issue.values)}`;
    case 'invalid_union':
      return `must be ${toAlternatives(issue, path, value)}`;
    case 'too_small':
      return toBound(issue, issue.minimum, 'at least');
    case 'too_big':
      return toBound(issue, issue.maximum, 'at most');
    case 'invalid_format':
      return issue.format === 'url' ? 'must be an http or https URL' : toSentence(issue.message);
    default:
      return toSentence(issue.message);
  }
};

const toMissing = (issue: z.core.$ZodIssue): string => {
  const choices = issue.code === 'invalid_value' ? issue.values : optionsOf(issue);
  return choices === null ? 'is missing' : `is missing: ${toChoice(choices)}`;
};

/** The words that tell the variants of an object apart. */
const optionsOf = (issue: z.core.$ZodIssue): readonly unknown[] | null =>
  issue.code === 'invalid_union' && 'options' in issue ? (issue.options ?? null) : null;

const toChoice = (choices: readonly unknown[]): string =>
  choices.length === 1 ? String(choices[0]) : `one of ${choices.map(String).join(', ')}`;

const toKind = ({ expected }: z.core.$ZodIssueInvalidType, path: ValuePath, value: unknown): string => {
  switch (expected) {
    case 'string':
      // YAML reads 80 and true as no texts.
      return typeof value === 'number' || typeof value === 'boolean' ? 'a text: put it into quotes' : 'a text';
    case 'number':
    case 'int':
      return `a whole number${toUnit(path)}`;
    case 'boolean':
      return 'true or false';
    case 'array':
      return 'a list';
    case 'object':
    case 'record':
      return 'an object';
    default:
      return `of the type ${expected}`;
  }
};

const toUnit = (path: ValuePath): string => {
  const member = String(path.at(-1));
  if (member.endsWith('Ms')) return ' of milliseconds, without a unit';
  return member.endsWith('Bytes') ? ' of bytes, without a unit' : '';
};

const toAlternatives = (union: z.core.$ZodIssueInvalidUnion, path: ValuePath, value: unknown): string => {
  const options = optionsOf(union);
  if (options !== null) return toChoice(options);
  const kinds = union.errors.flat().flatMap((issue) => {
    return issue.code === 'invalid_type' ? [toKind(issue, path, value)] : [];
  });
  return kinds.length === 0 ? 'something else' : [...new Set(kinds)].join(', or ');
};

const toBound = (
  { origin, message }: z.core.$ZodIssueTooSmall | z.core.$ZodIssueTooBig,
  limit: number | bigint,
  side: 'at least' | 'at most',
): string => {
  if (origin === 'number' || origin === 'int') return `must be ${side} ${limit}`;
  return origin === 'string' && side === 'at least' && limit === 1 ? 'must not be empty' : toSentence(message);
};

/** `Too big: expected …` → `is not right: expected …`. */
const toSentence = (message: string): string =>
  message
    .replace(/^(?:Invalid (?:input|option|element)|Too (?:big|small)): /, 'is not right: ')
    .replace(/^Invalid /, 'is no valid ');
