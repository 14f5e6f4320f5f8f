import type { ErrorObject } from 'ajv';
import type * as z from 'zod';
import type { JsonSchema } from '../contract/tool-description.ts';
import type { Issue } from '../contract/tool-result.ts';
import { cutText, describeValue, withArticle, withLookahead } from './describe-value.ts';
import { isSensitive, propertiesOf, schemaAt } from './json-schema.ts';

/** A problem before it has words: what a schema library found, and where. */
type Finding = {
  readonly path: readonly PropertyKey[];
  readonly kind: 'mismatch' | 'unknown_parameter' | 'rule';
  readonly expected: string;
};

const MISSING = 'required parameter missing';

// Eighty thousand bad items are one mistake. Those past the hundredth are counted, not worded: each would take the
// memory of its whole path.
const MAX_WORDED = 100;
const COUNTED: Issue = { path: '', expected: '', received: '', message: 'more of the same' };
// A secret that a caller writes as a name is still whole where secrets are taken out.
const MAX_STEP_LENGTH = 512;
// Of what a rule of the tool says.
const MAX_RULE_LENGTH = 300;

/** Whether the issue says that a required parameter is not there. */
export const isMissing = (issue: Issue): boolean => issue.message === MISSING;

const toValueAt = (input: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>(
    (value, step) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, step) ? Reflect.get(value, step) : undefined,
    input,
  );

const toIssue = (finding: Finding, input: unknown, schema: JsonSchema): Issue => {
  const path = finding.path.map((step) => cutText(String(step), MAX_STEP_LENGTH)).join('.');
  const value = toValueAt(input, finding.path);
  const received = describeValue(value, isSensitive(schema, finding.path) ? 'hide' : 'show');
  const { expected } = finding;
  if (finding.kind === 'unknown_parameter') {
    const accepted = [...propertiesOf(schemaAt(schema, finding.path.slice(0, -1)) ?? {}).keys()];
    const list = accepted.length === 0 ? 'none' : cutText(accepted.join(', '), 300);
    return { path, expected: 'no such parameter', received, message: `unknown parameter; accepted: ${list}` };
  }
  if (finding.path.length > 0 && value === undefined) return { path, expected, received, message: MISSING };
  const message =
    finding.kind === 'rule' ? withLookahead(expected, MAX_RULE_LENGTH) : `expected ${expected}, got ${received}`;
  return { path, expected, received, message };
};

/** As many issues as there are findings; only the first hundred have words of their own. */
const toIssues = <Finding>(findings: readonly Finding[], word: (finding: Finding) => Issue): Issue[] =>
  findings.map((finding, position) => (position < MAX_WORDED ? word(finding) : COUNTED));

const toJsonList = (values: readonly unknown[]): string =>
  values.length === 1 ? JSON.stringify(values[0]) : `one of ${values.map((value) => JSON.stringify(value)).join(', ')}`;

const toZodFindings = (issue: z.core.$ZodIssue): readonly Finding[] => {
  switch (issue.code) {
    case 'invalid_type':
      return [{ path: issue.path, kind: 'mismatch', expected: withArticle(issue.expected) }];
    case 'invalid_value':
      return [{ path: issue.path, kind: 'mismatch', expected: toJsonList(issue.values) }];
    case 'unrecognized_keys':
      return issue.keys.map((key) => ({ path: [...issue.path, key], kind: 'unknown_parameter', expected: '' }));
    default:
      return [{ path: issue.path, kind: 'rule', expected: issue.message }];
  }
};

/** zod's issues in our words. */
export const fromZodIssues = (issues: readonly z.core.$ZodIssue[], input: unknown, schema: JsonSchema): Issue[] =>
  toIssues(issues.flatMap(toZodFindings), (finding) => toIssue(finding, input, schema));

const toPath = (pointer: string, input: unknown): readonly PropertyKey[] => {
  const steps = pointer.split('/').slice(1);
  const path: PropertyKey[] = [];
  for (const step of steps) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
    path.push(Array.isArray(toValueAt(input, path)) ? Number(name) : name);
  }
  return path;
};

const toAjvFinding = (error: ErrorObject, input: unknown): Finding => {
  const path = toPath(error.instancePath, input);
  switch (error.keyword) {
    case 'required':
      return { path: [...path, String(error.params['missingProperty'])], kind: 'mismatch', expected: 'a value' };
    case 'additionalProperties':
      return { path: [...path, String(error.params['additionalProperty'])], kind: 'unknown_parameter', expected: '' };
    case 'type':
      return {
        path,
        kind: 'mismatch',
        expected: [error.params['type']].flat().map(String).map(withArticle).join(' or '),
      };
    case 'enum':
      return { path, kind: 'mismatch', expected: toJsonList([error.params['allowedValues']].flat()) };
    case 'const':
      return { path, kind: 'mismatch', expected: toJsonList([error.params['allowedValue']]) };
    default:
      return { path, kind: 'rule', expected: error.message ?? error.keyword };
  }
};

/** Ajv's errors in our words. */
export const fromAjvErrors = (errors: readonly ErrorObject[], input: unknown, schema: JsonSchema): Issue[] =>
  toIssues(errors, (error) => toIssue(toAjvFinding(error, input), input, schema));
