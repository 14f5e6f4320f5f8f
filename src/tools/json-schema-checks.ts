import { createRequire } from 'node:module';
import type * as Ajv from 'ajv/dist/2020.js';
import type { DataValidateFunction } from 'ajv/dist/types/index.js';
import type * as AjvFormats from 'ajv-formats';
import * as z from 'zod';
import { hasMoreNodes, isRecord } from '../contract/json-record.ts';
import type { JsonSchema } from '../contract/tool-description.ts';
import type { Issue } from '../contract/tool-result.ts';
import { toCanonicalText } from '../json/canonical-text.ts';
import { createAjvIssues } from './argument-issues.ts';
import { createForeignPatterns, type ForeignPatterns } from './foreign-patterns.ts';
import { loosenSchema, mapParts } from './loosen-schema.ts';
import { runInTimeBox } from './time-box.ts';
import { type ToWideInteger, withWideIntegers } from './wide-integers.ts';

export type Checked =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly issues: readonly Issue[] };

/** The value as it may be used, or what is wrong with it. */
export type JsonSchemaCheck = (value: unknown) => Checked;

/**
 * Who wrote a schema. `own`: a team, for its own tool, where its patterns are JavaScript's. `foreign`: an MCP server or
 * a document, whose patterns must not be able to stop this process.
 */
export type SchemaOrigin = 'own' | 'foreign';

/** Whether texts are refused that are not of the `format` that a schema gives; numbers are in any case. */
export type FormatRule = 'check' | 'advise';

// Beyond, the first problem is told and not all of them: a list of a hundred thousand mistakes in a schema of sixty
// alternatives is six million problems.
const MOST_NODES_TOLD_IN_FULL = 2_000;

/**
 * Makes checks that share one validator. Throws where a schema cannot be compiled. Checking takes time in the order of
 * the value's size: whether there is a problem is decided by the first one, and all of them are only looked for in small values.
 * `toWideInteger`: what a text of a whole number beyond ±2^53−1 becomes where the schema asks for a number; left out: it
 * does not fit.
 */
export const createJsonSchemaChecks = ({
  origin,
  formats = 'check',
  toWideInteger,
}: {
  readonly origin: SchemaOrigin;
  readonly formats?: FormatRule;
  readonly toWideInteger?: ToWideInteger;
}): ((schema: JsonSchema) => JsonSchemaCheck) => {
  const patterns = origin === 'own' ? null : createForeignPatterns(createRequire(import.meta.url)('re2js'));
  const first = createAjv(patterns, formats, 'first');
  // Only made for the first value that does not fit.
  let all: Ajv.Ajv2020 | undefined;
  return (declared) => {
    const own = withoutAsync(declared);
    const schema = patterns === null ? own : loosenUnjudged(own, formats, patterns);
    let findAll: Ajv.ValidateFunction | undefined;
    return createCheck({
      findFirst: first.compile(schema),
      toFindAll: () => {
        all ??= createAjv(patterns, formats, 'all');
        findAll ??= all.compile(schema);
        return findAll;
      },
      judge: createJudge(schema, toWideInteger),
      run: origin === 'foreign' && mayTakeLong(schema) ? runInTime : runAtOnce,
    });
  };
};

const createCheck = ({
  findFirst,
  toFindAll,
  judge,
  run,
}: {
  readonly findFirst: Ajv.ValidateFunction;
  readonly toFindAll: () => Ajv.ValidateFunction;
  readonly judge: ReturnType<typeof createJudge>;
  readonly run: typeof runInTime;
}): JsonSchemaCheck => {
  return (value) => {
    const fits = run(() => findFirst(value) === true);
    if (fits === 'cut_off') return OUT_OF_TIME;
    if (fits) return { ok: true, value };
    const isLarge = hasMoreNodes(value, MOST_NODES_TOLD_IN_FULL);
    // Compiled outside of the time box: on a busy machine that takes as long as a check may.
    const find = isLarge ? findFirst : toFindAll();
    const checked = run(() => judge(value, find, isLarge));
    return checked === 'cut_off' ? OUT_OF_TIME : checked;
  };
};

/** Says what is wrong with a value that does not fit, or makes one that does of it. `isLarge`: `find` finds one problem only. */
const createJudge = (schema: JsonSchema, toWide: ToWideInteger | undefined) => {
  const writeIssues = createAjvIssues(schema);
  return (value: unknown, find: Ajv.ValidateFunction, isLarge: boolean): Checked => {
    const findErrors = (one: unknown) => (find(one) === true ? [] : (find.errors ?? []));
    if (toWide === undefined) return { ok: false, issues: writeIssues(findErrors(value), value) };
    const judged = withWideIntegers(value, findErrors, isLarge ? 'one' : 'each', toWide);
    return judged.ok ? judged : { ok: false, issues: writeIssues(judged.errors, value) };
  };
};

// A schema without references and patterns is walked once for each value in it. With references twenty alternatives of a
// kilobyte can be a million, and a pattern takes its own length times that of the text: then only the clock tells.
const MOST_TIME_MS = 500;
const OUT_OF_TIME: Checked = {
  ok: false,
  issues: [
    {
      path: '',
      expected: 'arguments that can be checked',
      received: 'arguments that take too long to check',
      message: 'the arguments could not be checked against the schema in time; send simpler ones',
    },
  ],
};

const mayTakeLong = (schema: JsonSchema): boolean =>
  /"(\$ref|\$dynamicRef|\$recursiveRef|pattern|patternProperties)":/.test(JSON.stringify(schema));

const runAtOnce = <Result>(work: () => Result): Result | 'cut_off' => work();
const runInTime = <Result>(work: () => Result): Result | 'cut_off' => runInTimeBox(MOST_TIME_MS, work);

// Keywords of a definition that is written out wherever it is referred to: a thousand properties may each refer to one of a
// thousand properties.
const MOST_INLINED = 20;

const FORMATS_OF_NUMBERS = ['int32', 'int64', 'float', 'double'] as const;
const CHECKED_FORMATS: ReadonlySet<unknown> = new Set(FORMATS_OF_NUMBERS);

/**
 * Loosens the schema where formats or patterns are not checked here: such a part accepts more than its author meant, and
 * nothing may be refused because a value fits it.
 */
const loosenUnjudged = (schema: JsonSchema, formats: FormatRule, { isJudged }: ForeignPatterns): JsonSchema => {
  const isRelaxed = ({ format, pattern, patternProperties }: JsonSchema): boolean =>
    (formats === 'advise' && typeof format === 'string' && !CHECKED_FORMATS.has(format)) ||
    (typeof pattern === 'string' && !isJudged(pattern)) ||
    (isRecord(patternProperties) && !Object.keys(patternProperties).every(isJudged));
  // Any name fits a pattern that is not judged: its schema would hold for all of them.
  const withoutUnjudged = (part: JsonSchema): JsonSchema => {
    const { patternProperties: named } = part;
    const members = isRecord(named)
      ? Object.entries(named).map(([name, one]) => [name, isJudged(name) ? one : {}])
      : null;
    const judged = members === null ? part : { ...part, patternProperties: Object.fromEntries(members) };
    return mapParts(judged, withoutUnjudged);
  };
  return withoutUnjudged(loosenSchema(schema, isRelaxed));
};

// Loaded with the first JSON Schema: 9 MB and 30 ms that a process with zod schemas alone need not pay.
const createAjv = (patterns: ForeignPatterns | null, rule: FormatRule, problems: 'first' | 'all'): Ajv.Ajv2020 => {
  const load = createRequire(import.meta.url);
  const { Ajv2020 }: typeof Ajv = load('ajv/dist/2020.js');
  const formats: typeof AjvFormats = load('ajv-formats');
  const ajv = new Ajv2020({
    allErrors: problems === 'all',
    strict: false,
    // What is odd in a schema from elsewhere is nothing that this service's log should fill with.
    logger: false,
    // Or an optional member called `constructor` would be found missing, and then judged, on the prototype.
    ownProperties: true,
    ...(patterns === null ? {} : { code: { regExp: patterns.engine }, inlineRefs: MOST_INLINED }),
  });
  formats.default.default(ajv, rule === 'check' ? {} : [...FORMATS_OF_NUMBERS]);
  // Ajv's own divides binary fractions: 5.06 is no multiple of 0.01 to it. zod's allows for how they are rounded.
  replaceKeyword(ajv, 'multipleOf', 'number', (value, step) =>
    z.core.util.floatSafeRemainder(Number(value), Number(step)) === 0 ? null : step,
  );
  // Ajv's own compares every two items.
  replaceKeyword(ajv, 'uniqueItems', 'array', (items, wanted) =>
    wanted === true && Array.isArray(items) ? (findTwins(items)?.join(' and ') ?? null) : null,
  );
  return ajv;
};

/** `findProblem` gives what stands in the error under the keyword's name; null where the value fits. */
const replaceKeyword = (
  ajv: Ajv.Ajv2020,
  keyword: string,
  type: 'number' | 'array',
  findProblem: (value: unknown, argument: unknown) => unknown,
): void => {
  const compile = (argument: unknown): DataValidateFunction => {
    const check: DataValidateFunction = (value: unknown) => {
      const problem = findProblem(value, argument);
      if (problem === null) return true;
      check.errors = [{ keyword, params: { [keyword]: problem } }];
      return false;
    };
    return check;
  };
  const schemaType = type === 'number' ? 'number' : 'boolean';
  ajv.removeKeyword(keyword);
  ajv.addKeyword({ keyword, type, schemaType, errors: true, compile });
};

// Ajv would make a check of it whose answer is a promise.
const withoutAsync = ({ $async: _never, ...schema }: JsonSchema): JsonSchema => schema;

/** The places of two items that are equal as JSON Schema has it, whatever the order of their members; null where none are. */
export const findTwins = (items: readonly unknown[]): readonly [number, number] | null => {
  const places = new Map<string, number>();
  for (const [place, item] of items.entries()) {
    const text = toCanonicalText(item);
    const earlier = places.get(text);
    if (earlier !== undefined) return [place, earlier];
    places.set(text, place);
  }
  return null;
};
