import * as z from 'zod';
import { findNearestNames } from '../../contract/nearest-names.ts';

/** Where something stands in the file: names of members and places in lists. */
export type ValuePath = readonly (string | number)[];

/** Counted from 1, as editors do. */
export type TextPlace = { readonly line: number; readonly column: number };

/** What is wrong with the file. Never holds a value of it: that may be a secret. */
export type Mistake = { readonly path: ValuePath; readonly problem: string; readonly place: TextPlace | null };

// Whoever reads them mends the first few, or sees that the file is the wrong one.
const MAX_MISTAKES = 20;

/** One line for each of the first twenty, and one that counts the others. */
export const toMistakeLines = (file: string, mistakes: readonly Mistake[]): readonly string[] => {
  const lines = mistakes.slice(0, MAX_MISTAKES).map((mistake) => toLine(file, mistake));
  const more = mistakes.length - lines.length;
  return more === 0 ? lines : [...lines, `CONFIG_FILE ${file}: … and ${more} more`];
};

const toLine = (file: string, { path, problem, place }: Mistake): string => {
  const where = place === null ? '' : ` line ${place.line}, column ${place.column}`;
  return `CONFIG_FILE ${file}${where}: ${path.length === 0 ? '' : `${toPathText(path)} `}${problem}`;
};

const SHOWN = 80;

/** A name of the file as a line may show it. */
export const toNameText = (name: string): string => JSON.stringify(name.slice(0, SHOWN)).slice(1, -1);

/** `mcpServers.github.args[1]`, and `tools['github_*']` where a name is no word. */
export const toPathText = (path: ValuePath): string =>
  path
    .map((step, place) => {
      if (typeof step === 'number') return `[${step}]`;
      const name = toNameText(step);
      if (!/^[\w$-]+$/.test(name)) return `['${name}']`;
      return place === 0 ? name : `.${name}`;
    })
    .join('');

type Issue = z.core.$ZodIssue;
type Problem = Omit<Mistake, 'place'>;

/** What zod found wrong with a value, one problem for each member, in words that hold no value of the file. */
export const describeIssues = (schema: z.ZodType, value: unknown, issues: readonly Issue[]): readonly Problem[] => {
  const toProblems = (issue: Issue, above: ValuePath): readonly Problem[] => {
    const path = [...above, ...issue.path.filter((step) => typeof step !== 'symbol')];
    if (issue.code === 'unrecognized_keys') {
      const names = findNames(schema, path);
      return issue.keys.map((key) => ({ path: [...path, key], problem: unknownTextOf(path)(key, names) }));
    }
    if (issue.code === 'invalid_key')
      return issue.issues.map(({ message }) => ({ path, problem: `is not a valid name: it ${message}` }));
    const branch = issue.code === 'invalid_union' ? findNearestBranch(issue.errors) : null;
    if (branch !== null) return branch.flatMap((inner) => toProblems(inner, path));
    return [{ path, problem: toIssueText(issue, path, valueAt(value, path)) }];
  };
  return issues.flatMap((issue) => toProblems(issue, []));
};

export const valueAt = (value: unknown, path: ValuePath): unknown =>
  path.reduce<unknown>(
    (inner, step) => (typeof inner === 'object' && inner !== null ? Reflect.get(inner, step) : undefined),
    value,
  );

/** The choice that was meant, as far as can be told: the one with a mistake furthest inside, and few of them; null where all are wrong at once. */
const findNearestBranch = (branches: readonly (readonly Issue[])[]): readonly Issue[] | null => {
  const depthOf = (issues: readonly Issue[]): number => Math.max(...issues.map(({ path }) => path.length));
  const isUnknownName = (issues: readonly Issue[]): number =>
    issues.some(({ code }) => code === 'unrecognized_keys') ? 1 : 0;
  const [nearest] = branches
    .filter((issues) => issues.length > 0 && (depthOf(issues) > 0 || isUnknownName(issues) > 0))
    .toSorted(
      (one, other) =>
        depthOf(other) + isUnknownName(other) - depthOf(one) - isUnknownName(one) || one.length - other.length,
    );
  return nearest ?? null;
};

const unknownTextOf = (path: ValuePath) => (path.length === 0 ? toUnknownRootText : toUnknownText);

const toUnknownText = (key: string, names: readonly string[]): string => {
  const [nearest] = findNearestNames(key, names, 1);
  if (nearest !== undefined) return `is unknown here: did you mean '${nearest}'?`;
  return names.length === 0 ? 'is unknown here' : `is unknown here: allowed are ${names.join(', ')}`;
};

// What other hosts call their servers.
const ELSEWHERE: ReadonlySet<string> = new Set(['servers', 'context_servers']);

/** At the root stands what people bring along with the whole file of another host. */
const toUnknownRootText = (key: string, names: readonly string[]): string => {
  if (ELSEWHERE.has(key)) return "is unknown here: did you mean 'mcpServers'?";
  const text = toUnknownText(key, names);
  if (findNearestNames(key, names, 1).length > 0) return text;
  return `${text}; of another host's file only 'mcpServers' is read; remove '${toNameText(key)}'`;
};

const Part = z.looseObject({
  properties: z.record(z.string(), z.unknown()).optional(),
  additionalProperties: z.unknown().optional(),
  items: z.unknown().optional(),
  anyOf: z.array(z.unknown()).optional(),
  oneOf: z.array(z.unknown()).optional(),
  allOf: z.array(z.unknown()).optional(),
});

/** Names that the schema has for the members at a place. */
const findNames = (schema: z.ZodType, path: ValuePath): readonly string[] => {
  const whole: unknown = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  let parts = schemaParts(whole);
  for (const step of path) parts = parts.flatMap((part) => schemaParts(stepInto(part, step)));
  return [...new Set(parts.flatMap(({ properties = {} }) => Object.keys(properties)))];
};

const stepInto = ({ properties = {}, additionalProperties, items }: z.infer<typeof Part>, step: string | number) => {
  if (typeof step === 'number') return items;
  return Object.hasOwn(properties, step) ? properties[step] : additionalProperties;
};

const schemaParts = (schema: unknown): readonly z.infer<typeof Part>[] => {
  const part = Part.safeParse(schema);
  if (!part.success) return [];
  const { anyOf = [], oneOf = [], allOf = [] } = part.data;
  return [part.data, ...[...anyOf, ...oneOf, ...allOf].flatMap(schemaParts)];
};

/** What is wrong with a value, in plain words: what would be right there. Holds nothing of the value. */
const toIssueText = (issue: Issue, path: ValuePath, value: unknown): string => {
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

const toMissing = (issue: Issue): string => {
  const choices = issue.code === 'invalid_value' ? issue.values : optionsOf(issue);
  return choices === null ? 'is missing' : `is missing: ${toChoice(choices)}`;
};

/** The words that tell the variants of an object apart. */
const optionsOf = (issue: Issue): readonly unknown[] | null =>
  issue.code === 'invalid_union' && 'options' in issue ? (issue.options ?? null) : null;

const toChoice = (choices: readonly unknown[]): string =>
  choices.length === 1 ? String(choices[0]) : `one of ${choices.map(String).join(', ')}`;

const toKind = ({ expected }: z.core.$ZodIssueInvalidType, path: ValuePath, value: unknown): string => {
  switch (expected) {
    case 'string':
      // YAML reads 80 and true as no texts.
      return typeof value === 'number' || typeof value === 'boolean' ? 'a string: put it into quotes' : 'a text';
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
    .replace(/^(?:Invalid (?:input|option|element)|Too (?:big|small)): /, 'is invalid: ')
    .replace(/^Invalid /, 'is not a valid ');
