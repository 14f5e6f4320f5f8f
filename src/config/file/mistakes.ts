import type * as z from 'zod';
import { findNearestNames } from '../../contract/nearest-names.ts';

/** Where something stands in the file: names of members and places in lists. */
export type ValuePath = readonly (string | number)[];

/** What is wrong with one value of the file. Never holds the value: that may be a secret. */
export type Mistake = { readonly path: ValuePath; readonly problem: string };

const SHOWN = 80;

/** `mcpServers.github.args[1]`, and `tools['github_*']` where a name is no word. */
export const toPathText = (path: ValuePath): string =>
  path
    .map((step, place) => {
      if (typeof step === 'number') return `[${step}]`;
      const name = JSON.stringify(step.slice(0, SHOWN)).slice(1, -1);
      if (!/^[\w$-]+$/.test(name)) return `['${name}']`;
      return place === 0 ? name : `.${name}`;
    })
    .join('');

/** What to write instead of a name that is not one of these. */
export const explainUnknown = (name: string, allowed: readonly string[]): string => {
  const [nearest] = findNearestNames(name, allowed, 1);
  return nearest === undefined
    ? `is unknown here: allowed are ${allowed.join(', ')}`
    : `is unknown here: did you mean '${nearest}'?`;
};

/**
 * zod's words, which name types and limits and no value; and other words where zod's do not say what to write. Of unknown
 * names one line each, in the order of `keys`.
 */
export const explainIssue: z.core.$ZodErrorMap = (issue) => {
  if (issue.code === 'unrecognized_keys') {
    const { shape = {} }: { shape?: object } = Object(issue.inst?._zod.def);
    return issue.keys.map((key) => explainUnknown(key, Object.keys(shape))).join('\n');
  }
  if (issue.input === undefined) return 'is missing';
  // YAML reads 80 and true as no texts.
  const isUnquoted = typeof issue.input === 'number' || typeof issue.input === 'boolean';
  const isText = issue.code === 'invalid_type' && issue.expected === 'string';
  return isText && isUnquoted ? 'must be a string: put it into quotes' : undefined;
};

type Issue = z.core.$ZodIssue;

/** An issue of a schema that was given `explainIssue`, as one mistake for each member; `above`: where the value stands. */
export const readMistakes = (issue: Issue, above: ValuePath): readonly Mistake[] => {
  const path = [...above, ...issue.path.filter((step) => typeof step !== 'symbol')];
  switch (issue.code) {
    case 'unrecognized_keys': {
      const problems = issue.message.split('\n');
      return issue.keys.map((key, place) => ({ path: [...path, key], problem: problems[place] ?? '' }));
    }
    case 'invalid_key':
      return issue.issues.map(({ message }) => ({ path, problem: `is not a valid name: ${message}` }));
    case 'invalid_union':
      return readBranches(issue, path);
    default:
      return [{ path, problem: issue.message }];
  }
};

/** The mistakes in the branch that was meant, whose type is that of the value; else what each branch expects. */
const readBranches = ({ errors, message }: z.core.$ZodIssueInvalidUnion, path: ValuePath): readonly Mistake[] => {
  const meant = errors.find((branch) =>
    branch.every((issue) => issue.code !== 'invalid_type' || issue.path.length > 0),
  );
  if (meant !== undefined) return meant.flatMap((issue) => readMistakes(issue, path));
  const expected = errors.flat().map((issue) => issue.message);
  return [{ path, problem: expected.length === 0 ? message : [...new Set(expected)].join(', or ') }];
};
