import type { HttpMethod } from '@recourse/toolkit-kit/egress/redirects';
import { easeNestedDefaults } from '@recourse/upstreams/nested-defaults';
import type { Effects } from 'recourse-server/contract/failure';
import { type JsonRecord, listAt, recordAt, textAt } from 'recourse-server/contract/json-record';
import { isNestedDeeper } from 'recourse-server/tools/schema-check';
import { fitSchema } from './fit-schema.ts';
import type { OpenApiImportSettings } from './openapi-import-settings.ts';
import { type DocumentedOperation, fitsAny, type Method, parametersOf } from './operations.ts';
import { isHidden, nameArguments, type Part, readParameter, readTemplate } from './parameters.ts';
import type { OpenApiDocument } from './parse-document.ts';
import { describeOperation } from './plain-text.ts';
import { chooseOperationBase, followReferences, OperationProblem, type Servers } from './references.ts';
import { type RequestBody, readRequestBody, toArgumentsSchema } from './request-body.ts';
import { checkSize, findEndlessSchema, RequestSchemas } from './request-schema.ts';

/** What the plans of all operations of an import share. */
export type PlanContext = Servers & {
  readonly document: OpenApiDocument;
  readonly settings: OpenApiImportSettings;
  /** As `findCredentialKeys` gives them. */
  readonly credentials: ReadonlySet<string>;
};

/** All that a call of one operation needs. Holds nothing of the document. */
export type OperationPlan = ReturnType<typeof createOperationPlan>;

// Schemas of the document come to less; a `default` or an `enum` may be of any depth, and whoever writes it is not.
const MOST_NESTING = 256;

const CUT = 'Parts of the schema are too large to be shown.';

const METHOD_NAMES = {
  ...{ get: 'GET', head: 'HEAD', options: 'OPTIONS' },
  ...{ put: 'PUT', post: 'POST', patch: 'PATCH', delete: 'DELETE' },
} as const satisfies Partial<Record<Method, HttpMethod>>;

/** Makes the plan of one operation. Throws an OperationProblem where it cannot be a tool. */
export const createOperationPlan = (operation: DocumentedOperation, effects: Effects, context: PlanContext) => {
  const { document, credentials, settings } = context;
  const { source, method, problem } = operation;
  if (problem !== null || method === 'path') throw new OperationProblem(problem ?? 'Its method is unknown.');
  const base = chooseOperationBase(listServers(operation), context);
  if (method === 'trace') throw new OperationProblem('TRACE requests are not sent.');
  const { root } = document;
  const schemas = new RequestSchemas(document);
  const rules = settings.parameters.filter((rule) => fitsAny(operation, rule.operations ?? ['*']));
  const parts = { root, schemas, rules, uploads: settings.uploads };
  const documented = parametersOf(root, operation);
  const keyHeader = documented.find(isKeyHeader);
  const offered = documented.filter(
    (one) => one !== keyHeader && !isHidden(textAt(one, 'in') ?? '', textAt(one, 'name') ?? '', credentials),
  );
  const template = readTemplate(
    operation.path,
    offered.flatMap((one) => readParameter(one, parts)),
  );
  const parameters = nameArguments(template.parameters);
  const body = readRequestBody(source, new Set(parameters.flatMap(({ argument }) => argument ?? [])), parts);
  const { inputSchema, fill } = createInputSchema(parameters, body, schemas);
  const fitted = fitSchema(inputSchema, settings.maxSchemaBytes);
  return {
    ...{ base, effects, method: METHOD_NAMES[method], path: template.path, query: template.query, parameters, body },
    description: describeOperation(root, operation, fitted.isCut ? CUT : ''),
    inputSchema: fitted.schema,
    /** The arguments with the defaults of what lies within the body and is not given. */
    fill,
    accept: listAccepted(root, source),
    /** Statuses of redirects that the document gives as answers. */
    answeredRedirects: new Set(
      Object.keys(recordAt(source, 'responses'))
        .filter((status) => /^3\d\d$/.test(status))
        .map(Number),
    ),
    idempotencyKey: decideKey(keyHeader, fitsAny(operation, settings.idempotencyKeys)),
    credentials,
  };
};

/** The schema of all arguments, and what gives them the defaults that it does not demand. */
const createInputSchema = (parameters: readonly Part[], body: RequestBody | null, schemas: RequestSchemas) => {
  const ofBody = body?.whole === null ? body.members : [body?.whole ?? []].flat();
  const eased = easeNestedDefaults(
    new Map(ofBody.flatMap(({ argument, schema }) => (argument === null ? [] : [[argument, schema] as const]))),
    parameters.map(({ schema }) => schema),
    { definitions: schemas.definitions(), defaultOf: schemas.defaultOf },
  );
  const endless = findEndlessSchema(eased.definitions);
  if (endless !== null) throw new OperationProblem(`Its schema ${endless} refers to itself endlessly.`);
  const own = toArgumentsSchema([...parameters, ...ofBody]);
  const inputSchema = schemas.settle({
    ...own,
    properties: { ...recordAt(own, 'properties'), ...Object.fromEntries(eased.arguments) },
    ...(Object.keys(eased.definitions).length === 0 ? {} : { $defs: eased.definitions }),
  });
  if (isNestedDeeper(inputSchema, MOST_NESTING))
    throw new OperationProblem(`Its schema has values nested more than ${MOST_NESTING} levels deep.`);
  checkSize(inputSchema);
  return { inputSchema, fill: eased.fill };
};

const isKeyHeader = (parameter: JsonRecord): boolean =>
  parameter['in'] === 'header' && textAt(parameter, 'name')?.toLowerCase() === 'idempotency-key';

/** Whether the operation takes an Idempotency-Key, and whether it must have one; `of_writes`: because the settings say so. */
const decideKey = (header: JsonRecord | undefined, isWanted: boolean) => {
  if (header === undefined) return isWanted ? 'of_writes' : 'none';
  return header['required'] === true ? 'required' : 'optional';
};

/** The servers of the operation, else those of its path. */
const listServers = ({ source, pathItem }: DocumentedOperation): readonly unknown[] => {
  const own = listAt(source, 'servers');
  return own.length > 0 ? own : listAt(pathItem, 'servers');
};

const MOST_ACCEPTED = 6;

/** The Accept header: what successes are documented as, JSON first. */
const listAccepted = (root: JsonRecord, source: JsonRecord): string => {
  const media = Object.entries(recordAt(source, 'responses'))
    .filter(([status]) => /^2/.test(status))
    .flatMap(([, response]) => Object.keys(recordAt(followReferences(root, response), 'content')))
    .filter((type) => /^[\w.+*-]+\/[\w.+*-]+$/.test(type))
    .toSorted((a, b) => Number(/json/i.test(b)) - Number(/json/i.test(a)));
  const [first = 'application/json', ...others] = [...new Set(media)].slice(0, MOST_ACCEPTED);
  return [first, ...others.map((type) => `${type};q=0.9`), '*/*;q=0.1'].join(', ');
};
