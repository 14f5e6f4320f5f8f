import type { HttpMethod } from '@recourse/toolkit-kit/egress/redirects';
import { type EasedSchemas, easeNestedDefaults } from '@recourse/upstreams/nested-defaults';
import type { Effects } from 'recourse-server/contract/failure';
import { type JsonRecord, listAt, recordAt, textAt } from 'recourse-server/contract/json-record';
import type { JsonSchema } from 'recourse-server/contract/tool-description';
import { isNestedDeeper } from 'recourse-server/tools/schema-check';
import { type FittedSchema, fitSchema } from './fit-schema.ts';
import type { OpenApiImportSettings } from './openapi-import-settings.ts';
import { type DocumentedOperation, fitsAny, type Method, parametersOf } from './operations.ts';
import {
  checkTemplate,
  createSetParameters,
  isWithheld,
  type Parameter,
  type PathTemplate,
  type SetParameters,
  settleQuery,
  toParameter,
  toPathTemplate,
  withDistinctArguments,
} from './parameters.ts';
import type { OpenApiDocument } from './parse-document.ts';
import { describeOperation } from './plain-text.ts';
import { chooseOperationBase, followReferences, OperationProblem, type Servers } from './references.ts';
import { hiddenProblem, type RequestBody, toRequestBody } from './request-body.ts';
import { createRequestSchemas, findEndlessSchema, MOST_SCHEMA, TOO_LARGE } from './request-schema.ts';
import { sizeOf } from './value-size.ts';

/** All that a call of one operation needs. Holds nothing of the document. */
export type OperationPlan = PathTemplate & {
  readonly description: string;
  readonly inputSchema: JsonSchema;
  /** What its requests stay below. */
  readonly base: URL;
  readonly effects: Effects;
  readonly method: HttpMethod;
  readonly parameters: readonly Parameter[];
  readonly body: RequestBody | null;
  /** The arguments with the defaults of what lies within the body and is not given. */
  readonly fill: (given: JsonRecord) => JsonRecord;
  /** The Accept header. */
  readonly accept: string;
  /** Statuses of redirects that the document gives as answers. */
  readonly answeredRedirects: ReadonlySet<number>;
  /** Whether the operation takes an Idempotency-Key, and whether it must have one; `of_writes`: because the settings say so. */
  readonly idempotencyKey: 'none' | 'of_writes' | 'optional' | 'required';
};

/** What the plans of all operations of an import share. */
export type PlanContext = Servers & {
  readonly document: OpenApiDocument;
  readonly settings: OpenApiImportSettings;
  /** As `toCredentialKeys` gives them. */
  readonly credentials: ReadonlySet<string>;
};

// Schemas of the document come to less; a `default` or an `enum` may be of any depth, and whoever writes it is not.
const MOST_NESTING = 256;

/** A parameter as the settings want it: as it is, with their value, or not at all. */
const toSet = (parameter: Parameter, set: SetParameters): readonly Parameter[] => {
  const rule = set.find(parameter.name, parameter.in);
  if (rule === null) return [parameter];
  if (rule.kind === 'value') return [{ ...parameter, argument: null, fallback: rule.value }];
  if (parameter.required) throw new OperationProblem(hiddenProblem(parameter.name));
  return parameter.fallback === undefined ? [] : [{ ...parameter, argument: null }];
};

const toFitted = (schema: JsonSchema, most: number): FittedSchema => {
  if (isNestedDeeper(schema, MOST_NESTING))
    throw new OperationProblem(`Its schema has values nested more than ${MOST_NESTING} levels deep.`);
  if (sizeOf(schema, MOST_SCHEMA) === null) throw new OperationProblem(TOO_LARGE);
  return fitSchema(schema, most);
};

const CUT = 'Parts of the schema are too large to be shown.';

const METHOD_NAMES = {
  ...{ get: 'GET', head: 'HEAD', options: 'OPTIONS', trace: 'TRACE' },
  ...{ put: 'PUT', post: 'POST', patch: 'PATCH', delete: 'DELETE' },
} as const satisfies Record<Method, HttpMethod>;

/** Makes the plan of one operation. Throws an OperationProblem where it cannot be a tool. */
export const toOperationPlan = (
  operation: DocumentedOperation,
  effects: Effects,
  context: PlanContext,
): OperationPlan => {
  const { document, credentials, settings } = context;
  const rules = settings.parameters.filter((rule) => fitsAny(operation, rule.operations ?? ['*']));
  const set = createSetParameters(rules);
  const { source, method, problem } = operation;
  if (problem !== null || method === 'path') throw new OperationProblem(problem ?? 'Its method is unknown.');
  const base = chooseOperationBase(ownServersOf(operation), context);
  if (method === 'trace') throw new OperationProblem('TRACE requests are not sent.');
  const schemas = createRequestSchemas(document);
  const documented = parametersOf(document.root, operation);
  const keyHeader = documented.find((one) => isKeyHeader(one));
  const offered = documented.filter(
    (one) => one !== keyHeader && !isWithheld(textAt(one, 'in') ?? '', textAt(one, 'name') ?? '', credentials),
  );
  const settled = settleQuery(
    toPathTemplate(operation.path),
    offered.flatMap((one) => toSet(toParameter(one, schemas), set)),
  );
  const parameters = withDistinctArguments(settled.parameters);
  checkTemplate(settled, parameters);
  const body = toRequestBody(source, {
    ...{ root: document.root, schemas, uploads: settings.uploads, set },
    taken: new Set(parameters.flatMap(({ argument }) => argument ?? [])),
  });
  const eased = easeNestedDefaults(
    body?.arguments ?? new Map(),
    parameters.map(({ schema }) => schema),
    { definitions: schemas.definitions(), defaultOf: schemas.defaultOf },
  );
  const inputSchema = schemas.settle(toInputSchema(parameters, body, eased));
  const fitted = toFitted(inputSchema, settings.maxSchemaBytes);
  const wanted = fitsAny(operation, settings.idempotencyKeys) ? 'of_writes' : 'none';
  return {
    description: describeOperation(document.root, operation, fitted.cut === 'schemas' ? CUT : ''),
    inputSchema: fitted.schema,
    base,
    effects,
    method: METHOD_NAMES[method],
    path: settled.path,
    query: settled.query,
    parameters,
    body,
    fill: eased.fill,
    ...toAnswers(document.root, source),
    idempotencyKey: keyHeader === undefined ? wanted : keyHeader['required'] === true ? 'required' : 'optional',
  };
};

const isKeyHeader = (parameter: JsonRecord): boolean =>
  parameter['in'] === 'header' && textAt(parameter, 'name')?.toLowerCase() === 'idempotency-key';

/** The servers of the operation, else those of its path. */
const ownServersOf = ({ source, pathItem }: DocumentedOperation): readonly unknown[] => {
  const own = listAt(source, 'servers');
  return own.length > 0 ? own : listAt(pathItem, 'servers');
};

const toInputSchema = (
  parameters: readonly Parameter[],
  body: RequestBody | null,
  { arguments: ofBody, definitions }: EasedSchemas,
): JsonSchema => {
  const endless = findEndlessSchema(definitions);
  if (endless !== null) throw new OperationProblem(`Its schema ${endless} refers to itself endlessly.`);
  const own = parameters.flatMap(({ argument, schema }): readonly (readonly [string, JsonSchema])[] =>
    argument === null ? [] : [[argument, schema]],
  );
  const required = [
    ...parameters.flatMap((parameter) => (parameter.required ? (parameter.argument ?? []) : [])),
    ...(body?.requiredArguments ?? []),
  ];
  return {
    type: 'object',
    properties: Object.fromEntries([...own, ...ofBody]),
    ...(required.length === 0 ? {} : { required }),
    additionalProperties: false,
    ...(Object.keys(definitions).length === 0 ? {} : { $defs: definitions }),
  };
};

const toAnswers = (root: JsonRecord, source: JsonRecord): Pick<OperationPlan, 'accept' | 'answeredRedirects'> => {
  const responses = Object.entries(recordAt(source, 'responses'));
  const media = responses
    .filter(([status]) => /^2/.test(status))
    .flatMap(([, response]) => Object.keys(recordAt(followReferences(root, response), 'content')))
    .filter((type) => /^[\w.+*-]+\/[\w.+*-]+$/.test(type));
  const wanted = [...new Set(media.toSorted((a, b) => Number(/json/i.test(b)) - Number(/json/i.test(a))))].slice(0, 6);
  return {
    accept: [
      ...(wanted.length > 0 ? wanted.slice(0, 1) : ['application/json']),
      ...wanted.slice(1).map((type) => `${type};q=0.9`),
      '*/*;q=0.1',
    ].join(', '),
    answeredRedirects: new Set(
      responses.map(([status]) => Number(status)).filter((status) => status >= 300 && status < 400),
    ),
  };
};
