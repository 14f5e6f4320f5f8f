import type { Effects } from '../../../contract/failure.ts';
import type { JsonSchema } from '../../../contract/tool-description.ts';
import type { HttpMethod } from '../../http/redirects.ts';
import { isNestedDeeper } from '../../is-nested-deeper.ts';
import { findEndlessSchema } from '../document/endless-schemas.ts';
import { type JsonRecord, listAt, recordAt, textAt } from '../document/json-record.ts';
import type { OpenApiDocument } from '../document/openapi-document.ts';
import { followReferences, OperationProblem } from '../document/references.ts';
import { createRequestSchemas, MOST_SCHEMA, TOO_LARGE } from '../document/request-schema.ts';
import { chooseOperationBase } from '../document/server-url.ts';
import { sizeOf } from '../document/value-size.ts';
import { describeOperation } from './describe-operation.ts';
import type { Uploads } from './file-argument.ts';
import { type FittedSchema, fitSchema } from './fit-schema.ts';
import { type DocumentedOperation, type Method, parametersOf } from './list-operations.ts';
import { type EasedSchemas, easeNestedDefaults } from './nested-defaults.ts';
import { type Parameter, toParameter, withDistinctArguments } from './parameters.ts';
import { checkTemplate, type PathTemplate, settleQuery, toPathTemplate } from './path-template.ts';
import { hiddenProblem, type RequestBody, toRequestBody } from './request-body.ts';
import type { SetParameters } from './set-parameters.ts';
import { isWithheld } from './withheld-parameters.ts';

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

export type PlanOptions = {
  readonly document: OpenApiDocument;
  readonly documentUrl: URL | null;
  /** As `usualServerOf` gives it. */
  readonly usual: unknown;
  /** Of the import. */
  readonly base: URL;
  /** Where requests may go beside the base. */
  readonly allowed: readonly URL[];
  readonly set: SetParameters;
  readonly uploads: Uploads;
  /** Of the JSON of its schema. */
  readonly maxSchemaBytes: number;
  /** As `toCredentialKeys` gives them. */
  readonly credentials: ReadonlySet<string>;
  readonly effects: Effects;
  /** The settings want the key of a write to be sent. */
  readonly sendsKey: 'yes' | 'no';
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
    throw new OperationProblem(`Its schema holds values that are nested more than ${MOST_NESTING} levels deep.`);
  if (sizeOf(schema, MOST_SCHEMA) === null) throw new OperationProblem(TOO_LARGE);
  return fitSchema(schema, most);
};

const CUT = 'Parts of the schema are too large to be shown.';

const METHOD_NAMES = {
  get: 'GET',
  head: 'HEAD',
  options: 'OPTIONS',
  put: 'PUT',
  post: 'POST',
  patch: 'PATCH',
  delete: 'DELETE',
  trace: 'TRACE',
} as const satisfies Record<Method, HttpMethod>;

/** Makes the plan of one operation. Throws an OperationProblem where it cannot be a tool. */
export const toOperationPlan = (operation: DocumentedOperation, options: PlanOptions): OperationPlan => {
  const { document, credentials, effects, sendsKey } = options;
  const { source, method, problem } = operation;
  if (problem !== null || method === 'path') throw new OperationProblem(problem ?? 'Its method is not known.');
  const base = chooseOperationBase({ ...options, own: ownServersOf(operation) });
  if (method === 'trace') throw new OperationProblem('TRACE requests are not sent.');
  const schemas = createRequestSchemas(document);
  const documented = parametersOf(document.root, operation);
  const keyHeader = documented.find((one) => isKeyHeader(one));
  const offered = documented.filter(
    (one) => one !== keyHeader && !isWithheld(textAt(one, 'in') ?? '', textAt(one, 'name') ?? '', credentials),
  );
  const settled = settleQuery(
    toPathTemplate(operation.path),
    offered.flatMap((one) => toSet(toParameter(one, schemas), options.set)),
  );
  const parameters = withDistinctArguments(settled.parameters);
  checkTemplate(settled, parameters);
  const body = toRequestBody(source, {
    ...{ root: document.root, schemas, uploads: options.uploads, set: options.set },
    taken: new Set(parameters.flatMap(({ argument }) => argument ?? [])),
  });
  const eased = easeNestedDefaults(
    body?.arguments ?? new Map(),
    parameters.map(({ schema }) => schema),
    { definitions: schemas.definitions(), defaultOf: schemas.defaultOf },
  );
  const inputSchema = toInputSchema(parameters, body, eased);
  const fitted = toFitted(inputSchema, options.maxSchemaBytes);
  const wished = sendsKey === 'yes' ? 'of_writes' : 'none';
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
    idempotencyKey: keyHeader === undefined ? wished : keyHeader['required'] === true ? 'required' : 'optional',
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
  if (endless !== null) throw new OperationProblem(`Its schema ${endless} refers to itself without end.`);
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
