import type { JsonSchema } from '../../contract/tool-description.ts';
import { createJsonSchemaChecks, type JsonSchemaCheck } from '../json-schema-checks.ts';
import type { Checked } from '../schema-check.ts';

/** Checks arguments against a schema, which is compiled with the first of them. */
export type ArgumentCheck = (value: unknown) => Checked;

/**
 * Makes the checks of one version of a document. They share one validator: one each would take 9 ms and most of a
 * megabyte, and a document has a thousand. It goes with the tools of the version.
 */
export const createArgumentChecks = (): ((schema: JsonSchema) => ArgumentCheck) => {
  let toCheck: ReturnType<typeof createJsonSchemaChecks> | undefined;
  return (schema) => {
    let findIssues: JsonSchemaCheck | undefined;
    return (value) => {
      toCheck ??= createJsonSchemaChecks('foreign');
      findIssues ??= toCheck(schema);
      const issues = findIssues(value);
      return issues.length === 0 ? { ok: true, value } : { ok: false, issues };
    };
  };
};
