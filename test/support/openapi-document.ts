import * as z from 'zod';

export type JsonSchema = Readonly<Record<string, unknown>>;

/** One answer an operation may give: a schema for each media type; none where there is no body. */
export type DocumentedAnswer = ReadonlyMap<string, JsonSchema>;

export type Parameter = {
  readonly in: string;
  readonly name: string;
  readonly required: boolean;
  readonly schema: JsonSchema;
};

export type Operation = {
  readonly id: string;
  /** In capitals. */
  readonly method: string;
  /** As the document writes it: `/tools/{name}`. */
  readonly path: string;
  readonly parameters: readonly Parameter[];
  /** Of an application/json body; null where there is none. */
  readonly body: JsonSchema | null;
  readonly answers: ReadonlyMap<number, DocumentedAnswer>;
};

export type OpenapiDocument = {
  readonly operations: readonly Operation[];
  readonly components: Readonly<Record<string, JsonSchema>>;
};

const Schema = z.record(z.string(), z.unknown());
const Content = z.record(z.string(), z.object({ schema: Schema })).default({});
const OperationObject = z.object({
  operationId: z.string(),
  parameters: z
    .array(z.object({ in: z.string(), name: z.string(), required: z.boolean().default(false), schema: Schema }))
    .default([]),
  requestBody: z.object({ content: Content }).optional(),
  responses: z.record(z.string().regex(/^\d{3}$/), z.object({ content: Content })),
});
const DocumentObject = z.object({
  openapi: z.string().startsWith('3.1'),
  paths: z.record(z.string(), z.record(z.string(), OperationObject)),
  components: z.object({ schemas: z.record(z.string(), Schema) }),
});

/** The document as a running service gives it. */
export const loadOpenapiDocument = async (url: string): Promise<OpenapiDocument> => {
  const { paths, components } = DocumentObject.parse(await (await fetch(`${url}/openapi.json`)).json());
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => toOperation(path, method, operation)),
  );
  return { operations, components: components.schemas };
};

const toOperation = (
  path: string,
  method: string,
  { operationId, parameters, requestBody, responses }: z.infer<typeof OperationObject>,
): Operation => ({
  id: operationId,
  method: method.toUpperCase(),
  path,
  parameters,
  body: requestBody?.content['application/json']?.schema ?? null,
  answers: new Map(
    Object.entries(responses).map(([status, { content }]) => [
      Number(status),
      new Map(Object.entries(content).map(([type, { schema }]) => [type, schema])),
    ]),
  ),
});

/** What a request is for: an operation, a path that has others, or nothing that the document knows. */
export type Target = Operation | 'other_method' | 'unknown_path';

const toPattern = (path: string): RegExp =>
  new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]*')}$`);

/** Finds it as a router does: by the path up to its query, percent-decoded, one without parameters first; HEAD is GET. */
export const findTarget = ({ operations }: OpenapiDocument, method: string, target: string): Target => {
  const path = toPath(target);
  const fitting = operations.filter((operation) => path !== null && toPattern(operation.path).test(path));
  const named = fitting.filter((operation) => operation.path === path);
  const here = named.length > 0 ? named : fitting;
  if (here.length === 0) return 'unknown_path';
  const asked = method === 'HEAD' ? 'GET' : method;
  return here.find((operation) => operation.method === asked) ?? 'other_method';
};

const toPath = (target: string): string | null => {
  const [path = ''] = target.replace(/^https?:\/\/[^/]*/, '').split(/[?#]/);
  return URL.canParse(`http://host${path}`) && isDecodable(path) ? decodeURI(path) : null;
};

const isDecodable = (path: string): boolean => {
  try {
    decodeURIComponent(path);
    return true;
  } catch (error) {
    if (error instanceof URIError) return false;
    throw error;
  }
};
