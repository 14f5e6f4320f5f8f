import { upgrade } from '@scalar/openapi-upgrader';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';

export type Json = Readonly<Record<string, unknown>>;

export const isJson = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const jsonAt = (parent: unknown, ...names: readonly string[]): Json => {
  let current: unknown = parent;
  for (const name of names) current = isJson(current) && Object.hasOwn(current, name) ? current[name] : undefined;
  return isJson(current) ? current : {};
};

/** A document in 3.1, whose schemas are checked as requests are: what only answers have is required of nobody. */
export type StandInDocument = {
  readonly root: Json;
  /** The object itself or what its reference leads to. */
  readonly follow: (value: unknown) => Json;
  /** Checks values against the schema that lies there in the document. */
  readonly validatorAt: (steps: readonly string[]) => ValidateFunction;
  /** The same for a schema anywhere. */
  readonly validatorOf: (schema: Json) => ValidateFunction;
};

const NAME = 'document';
const MOST_STEPS = 100;

/** A document of OpenAPI 3, and what its references lead to; one of Swagger 2.0 is upgraded first. */
export const createDocumentView = (source: Json): Pick<StandInDocument, 'root' | 'follow'> => {
  const root: unknown = 'swagger' in source ? upgrade(structuredClone(source), '3.1') : source;
  if (!isJson(root)) throw new Error('The document could not be upgraded.');
  const follow = (value: unknown): Json => {
    let current = value;
    for (let step = 0; step < MOST_STEPS && isJson(current) && typeof current['$ref'] === 'string'; step += 1)
      current = pointed(root, current['$ref']);
    return isJson(current) ? current : {};
  };
  return { root, follow };
};

export const createStandInDocument = (source: Json): StandInDocument => {
  const upgraded: unknown = upgrade(structuredClone(source), '3.1');
  if (!isJson(upgraded)) throw new Error('The document could not be upgraded.');
  const { follow } = createDocumentView(upgraded);
  const forRequests = toRequestForm(upgraded, follow);
  const ajv = new Ajv2020({
    strict: false,
    allErrors: true,
    validateSchema: false,
    logger: false,
    code: { regExp: Object.assign(toExpression, { code: 'toExpression' }) },
  });
  formats.default(ajv);
  ajv.addSchema({ $id: NAME, ...(isJson(forRequests) ? forRequests : {}) });
  return {
    root: upgraded,
    follow,
    validatorAt: (steps) => ajv.compile({ $ref: `${NAME}#/${steps.map(toPointerStep).join('/')}` }),
    validatorOf: (schema) =>
      ajv.compile(JSON.parse(JSON.stringify(toRequestForm(schema, follow)).replaceAll('"#/', `"${NAME}#/`))),
  };
};

// A pattern is one of Unicode (JSON Schema, section 6.4) where it can be: `\p{L}` is a letter. Of a literal, `/^a$/i`, what is
// between the slashes is meant.
const toExpression = (pattern: string): RegExp => {
  const [, literal, flags = ''] = /^\/(\^.*\$)\/([a-z]*)$/s.exec(pattern) ?? [];
  try {
    return new RegExp(literal ?? pattern, flags.includes('i') ? 'iu' : 'u');
  } catch (thrown) {
    // A class of another language, such as \p{Alnum}, is not judged.
    if (thrown instanceof SyntaxError) return pattern.includes('\\p{') ? /(?:)/ : new RegExp(literal ?? pattern);
    throw thrown;
  }
};

const toPointerStep = (step: string): string => encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1'));

const pointed = (root: Json, reference: string): unknown => {
  let current: unknown = root;
  for (const step of reference.split('/').slice(1)) {
    const name = decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~');
    current = isJson(current) || Array.isArray(current) ? Reflect.get(current, name) : undefined;
  }
  return current;
};

/** A copy in which nothing that is `readOnly` is required, without the word `nullable`, which 3.1 does not know. */
const toRequestForm = (value: unknown, follow: (value: unknown) => Json): unknown => {
  if (Array.isArray(value)) return value.map((item) => toRequestForm(item, follow));
  if (!isJson(value)) return value;
  const members = Object.entries(value).filter(([name, member]) => name !== 'nullable' || typeof member !== 'boolean');
  const copy = Object.fromEntries(members.map(([name, member]) => [name, toRequestForm(member, follow)]));
  const { required, properties } = value;
  if (!Array.isArray(required) || !isJson(properties)) return copy;
  return { ...copy, required: required.filter((name) => follow(properties[name])['readOnly'] !== true) };
};
