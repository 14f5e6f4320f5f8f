import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import {
  type DocumentedAnswer,
  findTarget,
  type JsonSchema,
  type OpenapiDocument,
  type Target,
} from './openapi-document.ts';
import type { FuzzRequest } from './openapi-requests.ts';
import type { RawAnswer } from './raw-http.ts';

/** What is wrong with an answer by the document; empty where nothing is. */
export type CheckAnswer = (request: FuzzRequest, answer: RawAnswer) => readonly string[];

const PROBLEM = 'application/problem+json';
// Of requests that the document has no operation for: what the door refuses, and that there is nothing.
const DOOR = [400, 401, 403, 408, 413, 414, 415, 417, 429, 431];
const OUTSIDE = { other_method: [...DOOR, 404, 405], unknown_path: [...DOOR, 404, 405] } as const;

// GET / is no operation: it leads to the console, and says where everything is. The target `*` (RFC 9112, section 3.2.4) is read as it.
const isIndex = ({ target }: FuzzRequest, { status }: RawAnswer): boolean =>
  status === 200 && /^(?:https?:\/\/[^/?#]*)?[/*]?(?:[?#].*)?$/s.test(target);

/** Holds answers to the document: a status of the operation, its media type, and a body that fits its schema. */
export const createCheckAnswer = (document: OpenapiDocument): CheckAnswer => {
  const findMisfit = createFindMisfit(document);
  const toDocumented = createToDocumented(document);
  const check: CheckAnswer = (request, answer) => {
    const target = findTarget(document, request.method, request.target);
    const documented = toDocumented(target, answer.status);
    const name = `${typeof target === 'string' ? target : target.id} ${answer.status}`;
    if (documented === undefined) return [`${name} is not documented`];
    if (answer.status >= 500) return [`${name} is no answer of a service that is well`];
    // Events are held against the document one by one, in test/streams.
    const isStream = answer.headers.get('content-type') === 'text/event-stream';
    // Whatever the document shows, 304 has no body (RFC 9110, section 15.4.5).
    const isUnread = request.method === 'HEAD' || isStream || (answer.status === 304 && answer.body === '');
    const ofBody = isUnread ? [] : findBodyMistakes(answer, documented, findMisfit);
    return [...findIdMistakes(answer), ...ofBody].map((mistake) => `${name}: ${mistake}`);
  };
  return (request, answer) => (isIndex(request, answer) ? [] : check(request, answer));
};

const createToDocumented = (
  document: OpenapiDocument,
): ((target: Target, status: number) => DocumentedAnswer | undefined) => {
  const { Problem } = document.components;
  if (Problem === undefined) throw new Error('The document has no schema of problems.');
  const problem: DocumentedAnswer = new Map([[PROBLEM, Problem]]);
  return (target, status) => {
    if (typeof target !== 'string') return target.answers.get(status);
    return OUTSIDE[target].includes(status) ? problem : undefined;
  };
};

type FindMisfit = (schema: JsonSchema, value: unknown) => string | null;

const createFindMisfit = ({ components }: OpenapiDocument): FindMisfit => {
  const ajv = new Ajv2020({ strict: false, validateFormats: true });
  formats.default(ajv);
  const compiled = new Map<JsonSchema, ValidateFunction>();
  return (schema, value) => {
    const validate = compiled.get(schema) ?? ajv.compile({ ...schema, components: { schemas: components } });
    compiled.set(schema, validate);
    return validate(value) ? null : ajv.errorsText(validate.errors);
  };
};

const findBodyMistakes = (
  { headers, body }: RawAnswer,
  documented: DocumentedAnswer,
  findMisfit: FindMisfit,
): readonly string[] => {
  if (documented.size === 0) return body === '' ? [] : ['a body that is not documented'];
  const [type = ''] = (headers.get('content-type') ?? '').split(';');
  const schema = documented.get(type);
  if (schema === undefined) return [`the media type ${type} is not documented`];
  const misfit = findMisfit(schema, type.endsWith('json') ? JSON.parse(body) : body);
  return misfit === null ? [] : [misfit];
};

const findIdMistakes = ({ headers, body, status }: RawAnswer): readonly string[] => {
  const id = headers.get('x-request-id') ?? '';
  if (!/^[A-Za-z0-9_-]{16,64}$/.test(id)) return [`the request id is ${JSON.stringify(id)}`];
  if (status === 204 || body === '' || !headers.get('content-type')?.startsWith(PROBLEM)) return [];
  const problem: unknown = JSON.parse(body);
  const fits = typeof problem === 'object' && problem !== null && 'status' in problem && 'request_id' in problem;
  if (!fits || problem.status !== status || problem.request_id !== id)
    return ['status or id of the problem is another'];
  return [];
};
