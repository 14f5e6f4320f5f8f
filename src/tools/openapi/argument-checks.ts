import { createRequire } from 'node:module';
import type * as Ajv from 'ajv/dist/2020.js';
import type * as AjvFormats from 'ajv-formats';
import type { JsonSchema } from '../../contract/tool-description.ts';
import { fromAjvErrors } from '../argument-issues.ts';
import type { Checked } from '../schema-check.ts';

/** Checks arguments against a schema, which is compiled with the first of them. */
export type ArgumentCheck = (value: unknown) => Checked;

/**
 * Makes the checks of one version of a document. They share one validator: one each would take 9 ms and most of a
 * megabyte, and a document has a thousand. It goes with the tools of the version.
 */
export const createArgumentChecks = (): ((schema: JsonSchema) => ArgumentCheck) => {
  let ajv: Ajv.Ajv2020 | null = null;
  return (schema) => {
    let validate: Ajv.ValidateFunction | null = null;
    return (value) => {
      ajv ??= createAjv();
      validate ??= ajv.compile(schema);
      return validate(value)
        ? { ok: true, value }
        : { ok: false, issues: fromAjvErrors(validate.errors ?? [], value, schema) };
    };
  };
};

// Loaded with the first call: 9 MB and 30 ms.
const createAjv = (): Ajv.Ajv2020 => {
  const load = createRequire(import.meta.url);
  const { Ajv2020 }: typeof Ajv = load('ajv/dist/2020.js');
  const formats: typeof AjvFormats = load('ajv-formats');
  const ajv = new Ajv2020({ allErrors: true, strict: false, logger: false });
  formats.default.default(ajv);
  return ajv;
};
