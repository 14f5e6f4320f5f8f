import * as z from 'zod';
import type { JsonSchema } from '../contract/tool-description.ts';
import { createZodIssues } from './argument-issues.ts';
import { type Checked, createJsonSchemaChecks, type SchemaOrigin } from './json-schema-checks.ts';

/** A schema made ready to check values: its JSON Schema form, and the check. The check may throw what a refinement throws. */
export type SchemaCheck = {
  readonly jsonSchema: JsonSchema;
  readonly check: (value: unknown) => Checked | Promise<Checked>;
};

/** Whether `schema` is a zod 4 schema and not a plain JSON Schema. */
export const isZodSchema = (schema: z.ZodType | JsonSchema): schema is z.ZodType => '_zod' in schema;

type Side = 'input' | 'output';

/**
 * Makes a check from a zod schema or a JSON Schema (draft 2020-12). For inputs, unknown top-level parameters are
 * refused unless the schema says what to do with them: a model that invents a parameter must hear of it.
 * Throws where the schema itself cannot be compiled or expressed, or is nested too deep to be shown.
 */
export const createSchemaCheck = (
  schema: z.ZodType | JsonSchema,
  side: Side,
  origin: SchemaOrigin = 'own',
): SchemaCheck => {
  if (!isZodSchema(schema)) return createJsonSchemaCheck(schema, side, origin);
  const check = createZodCheck(schema, side);
  checkNesting(check.jsonSchema);
  return check;
};

/**
 * Objects and lists of a schema within each other, values such as defaults counted. The catalogue is written by recursion,
 * and common JSON parsers give up at about a thousand levels: they would refuse the whole of it for one such schema.
 */
export const MOST_SCHEMA_LEVELS = 500;

const checkNesting = (schema: JsonSchema): void => {
  if (isNestedDeeper(schema, MOST_SCHEMA_LEVELS))
    throw new RangeError(`It is nested more than ${MOST_SCHEMA_LEVELS} levels deep.`);
};

const createZodCheck = (declared: z.ZodType, side: Side): SchemaCheck => {
  const isOpen = !(declared instanceof z.ZodObject) || declared.def.catchall !== undefined;
  const schema = side === 'output' || isOpen ? declared : declared.strict();
  let mayWait = false;
  let mayFit = false;
  const unsayable: string[] = [];
  const jsonSchema = z.toJSONSchema(schema, {
    io: side,
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      const { def } = zodSchema._zod;
      mayWait ||= runsForeignCode(zodSchema);
      mayFit ||= CONVERTING.has(def.type);
      if (UNSAYABLE.has(def.type) && !('coerce' in def)) unsayable.push(def.type);
      // zod writes the calendar out, leap years included: two hundred signs that say no more than the format.
      if (FORMATS_ENOUGH.has(jsonSchema.format ?? '')) delete jsonSchema.pattern;
    },
  });
  // No call could ever fit; unless something makes such a value of what is sent.
  const [type] = unsayable;
  if (side === 'input' && type !== undefined && !mayFit)
    throw new TypeError(`arguments are JSON, which has no ${type}: describe the JSON value, and convert it in run`);
  const writeIssues = createZodIssues(jsonSchema);
  const conclude = ({ issues, value: checked }: z.core.ParsePayload, input: unknown): Checked =>
    issues.length === 0 ? { ok: true, value: checked } : { ok: false, issues: writeIssues(issues, input) };
  // Not by zod's own safeParse: it makes an exception and a message of its own for each problem, which took half the time
  // of a call that fails. Code of the tool's own may be asynchronous. Trying it synchronously first would run it twice and
  // leave a promise behind that nobody handles.
  const check: SchemaCheck['check'] = mayWait
    ? async (value) => conclude(await schema._zod.run({ value, issues: [] }, { async: true }), value)
    : (value) => {
        const ran = schema._zod.run({ value, issues: [] }, { async: false });
        if (ran instanceof Promise) throw new z.core.$ZodAsyncError();
        return conclude(ran, value);
      };
  return { jsonSchema, check };
};

// With one of these something else than such a value may be sent.
const CONVERTING: ReadonlySet<string> = new Set(['pipe', 'union', 'catch']);
const UNSAYABLE: ReadonlySet<string> = new Set(['date', 'bigint', 'map', 'set', 'symbol', 'nan']);

const FORMATS_ENOUGH: ReadonlySet<string> = new Set(['date', 'date-time', 'time']);

/** Whether checking runs a refinement or a transformation that the tool brought along. */
const runsForeignCode = ({ _zod: { def } }: z.core.$ZodTypes): boolean =>
  FOREIGN_TYPES.has(def.type) || (def.checks ?? []).some((check) => check._zod.def.check === 'custom');

const FOREIGN_TYPES: ReadonlySet<string> = new Set(['custom', 'pipe', 'promise', 'transform']);

// Where a schema already says what happens to further members, its own word stands.
const SPEAKS_OF_FURTHER_MEMBERS = [
  'additionalProperties',
  'unevaluatedProperties',
  'patternProperties',
  'allOf',
  'anyOf',
  'oneOf',
  '$ref',
];

const createJsonSchemaCheck = (declared: JsonSchema, side: Side, origin: SchemaOrigin): SchemaCheck => {
  // Before it is compiled, which is recursive, too.
  checkNesting(declared);
  const open = SPEAKS_OF_FURTHER_MEMBERS.some((keyword) => keyword in declared);
  const jsonSchema = side === 'input' && !open ? { ...declared, additionalProperties: false } : declared;
  // A handler of one's own gets what the schema describes; for a server a number is written with all its digits.
  const wide = origin === 'own' ? {} : { toWideInteger: (digits: string) => JSON.rawJSON(digits) };
  return { jsonSchema, check: createJsonSchemaChecks({ origin, ...wide })(jsonSchema) };
};

/** Whether a value of JSON is nested deeper than so many levels. Takes no stack, however deep it is. */
export const isNestedDeeper = (value: unknown, levels: number): boolean => {
  const open: (readonly [value: unknown, level: number])[] = [[value, 0]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [current, level] = next;
    if (typeof current !== 'object' || current === null) continue;
    if (level === levels) return true;
    for (const member of Object.values(current)) open.push([member, level + 1]);
  }
  return false;
};
