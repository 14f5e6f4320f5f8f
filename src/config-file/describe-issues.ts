import * as z from 'zod';
import { findNearestNames } from '../contract/nearest-names.ts';
import { toIssueText } from './issue-text.ts';
import { toNameText, type ValuePath } from './mistake.ts';

type Problem = { readonly path: ValuePath; readonly problem: string };

/** What was checked, and what zod found wrong with it. */
export type Checked = {
  readonly schema: z.ZodType;
  readonly value: unknown;
  readonly issues: readonly z.core.$ZodIssue[];
};

/** What is wrong, one problem for each member, in words that hold no value of the file. */
export const describeIssues = ({ schema, value, issues }: Checked): readonly Problem[] =>
  issues.flatMap((issue) => toProblems({ schema, value }, issue, []));

const toProblems = (
  checked: Omit<Checked, 'issues'>,
  issue: z.core.$ZodIssue,
  above: ValuePath,
): readonly Problem[] => {
  const path = [...above, ...issue.path.filter((step) => typeof step !== 'symbol')];
  switch (issue.code) {
    case 'unrecognized_keys': {
      const known = findNames(checked.schema, path);
      const toText = path.length === 0 ? toUnknownRootText : toUnknownText;
      return issue.keys.map((key) => ({ path: [...path, key], problem: toText(key, known) }));
    }
    case 'invalid_key':
      return issue.issues.map(({ message }) => ({ path, problem: `is no name for this: it ${message}` }));
    case 'invalid_union': {
      const branch = findNearestBranch(issue.errors);
      return branch === null
        ? [{ path, problem: toIssueText(issue, path, valueAt(checked.value, path)) }]
        : branch.flatMap((inner) => toProblems(checked, inner, path));
    }
    default:
      return [{ path, problem: toIssueText(issue, path, valueAt(checked.value, path)) }];
  }
};

const valueAt = (value: unknown, path: ValuePath): unknown =>
  path.reduce<unknown>(
    (inner, step) => (typeof inner === 'object' && inner !== null ? Reflect.get(inner, step) : undefined),
    value,
  );

/** The choice that was meant, as far as can be told: the one with a mistake furthest inside, and few of them; null where all are wrong at once. */
const findNearestBranch = (branches: readonly (readonly z.core.$ZodIssue[])[]): readonly z.core.$ZodIssue[] | null => {
  const depthOf = (issues: readonly z.core.$ZodIssue[]): number => Math.max(...issues.map(({ path }) => path.length));
  const isUnknownName = (issues: readonly z.core.$ZodIssue[]): number =>
    issues.some(({ code }) => code === 'unrecognized_keys') ? 1 : 0;
  const [nearest] = branches
    .filter((issues) => issues.length > 0 && (depthOf(issues) > 0 || isUnknownName(issues) > 0))
    .toSorted(
      (one, other) =>
        depthOf(other) + isUnknownName(other) - depthOf(one) - isUnknownName(one) || one.length - other.length,
    );
  return nearest ?? null;
};

const toUnknownText = (key: string, known: readonly string[]): string => {
  const [nearest] = findNearestNames(key, known, 1);
  if (nearest !== undefined) return `is not known here: did you mean '${nearest}'?`;
  return known.length === 0 ? 'is not known here' : `is not known here: there are ${known.join(', ')}`;
};

// What other hosts call their servers.
const ELSEWHERE: ReadonlySet<string> = new Set(['servers', 'context_servers']);

/** At the root stands what people bring along with the whole file of another host. */
const toUnknownRootText = (key: string, known: readonly string[]): string => {
  if (ELSEWHERE.has(key)) return "is not known here: did you mean 'mcpServers'?";
  const text = toUnknownText(key, known);
  if (findNearestNames(key, known, 1).length > 0) return text;
  return `${text}; only 'mcpServers' of another host's file belongs here; take '${toNameText(key)}' out`;
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
  let parts = toAlternatives(whole);
  for (const step of path) parts = parts.flatMap((part) => toAlternatives(stepInto(part, step)));
  return [...new Set(parts.flatMap(({ properties = {} }) => Object.keys(properties)))];
};

const stepInto = ({ properties = {}, additionalProperties, items }: z.infer<typeof Part>, step: string | number) => {
  if (typeof step === 'number') return items;
  return Object.hasOwn(properties, step) ? properties[step] : additionalProperties;
};

const toAlternatives = (schema: unknown): readonly z.infer<typeof Part>[] => {
  const part = Part.safeParse(schema);
  if (!part.success) return [];
  const { anyOf = [], oneOf = [], allOf = [] } = part.data;
  return [part.data, ...[...anyOf, ...oneOf, ...allOf].flatMap(toAlternatives)];
};
