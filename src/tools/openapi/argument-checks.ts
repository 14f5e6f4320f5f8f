import type { JsonSchema } from '../../contract/tool-description.ts';
import type { Issue } from '../../contract/tool-result.ts';
import { createJsonSchemaChecks, type FormatRule, type JsonSchemaCheck } from '../json-schema-checks.ts';
import type { Checked } from '../schema-check.ts';
import { runInTimeBox } from '../time-box.ts';

/** Checks arguments against a schema, which is compiled with the first of them. */
export type ArgumentCheck = (value: unknown) => Checked;

// Thirty times what the largest of GitHub's takes: a busy machine refuses none. Nothing else of the process runs meanwhile.
const MOST_COMPILE_MS = 5_000;

const NO_VALIDATOR: Issue = {
  path: '',
  expected: 'a schema that can be compiled',
  received: 'a schema that cannot',
  message: "this operation's schema cannot be compiled to check arguments; use another operation",
};

/**
 * Makes the checks of one version of a document. They share one validator: one each would take 9 ms and most of a
 * megabyte, and a document has a thousand. It goes with the tools of the version. A schema that cannot be compiled, or
 * not in five seconds, refuses all arguments and is not tried again.
 */
export const createArgumentChecks = (formats: FormatRule): ((schema: JsonSchema) => ArgumentCheck) => {
  let toCheck: ReturnType<typeof createJsonSchemaChecks> | undefined;
  const compile = (schema: JsonSchema): JsonSchemaCheck => {
    toCheck ??= createJsonSchemaChecks('foreign', formats);
    const validator = toCheck;
    const compiled = runInTimeBox(MOST_COMPILE_MS, () => orNull(() => validator(schema)));
    if (typeof compiled === 'function') return compiled;
    // What was cut off in the middle of its work is not worked with again.
    toCheck = undefined;
    return () => [NO_VALIDATOR];
  };
  return (schema) => {
    let findIssues: JsonSchemaCheck | undefined;
    return (value) => {
      findIssues ??= compile(schema);
      const issues = findIssues(value);
      return issues.length === 0 ? { ok: true, value } : { ok: false, issues };
    };
  };
};

/** Ajv says in many ways that it cannot compile a schema: all of them are the schema's fault. */
const orNull = (make: () => JsonSchemaCheck): JsonSchemaCheck | null => {
  try {
    return make();
  } catch (thrown) {
    if (thrown instanceof Error) return null;
    throw thrown;
  }
};
