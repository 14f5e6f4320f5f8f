import { parentPort, workerData } from 'node:worker_threads';
import { upgradeFromTwoToThree } from '@scalar/openapi-upgrader/2.0-to-3.0';
import {
  isRecord,
  type JsonRecord,
  listAt,
  memberOf,
  recordAt,
  textAt,
  textsAt,
} from 'recourse-server/contract/json-record';
import { mergeReferred } from './references.ts';
import { sizeOf } from './value-size.ts';

const METHODS = ['get', 'head', 'options', 'put', 'post', 'patch', 'delete'] as const;
// Of all parameters, written out wherever they are referred to. The largest of Azure's documents has 100 000 values.
const MOST_OF_PARAMETERS = { values: 1_000_000, characters: 33_554_432 };
const MOST_MEDIA = 20;

/**
 * What the converter does not know by itself: a parameter of a path, or one that is referred to, may be the body or a
 * member of a form, and forms are sent as forms where nothing says how. References are followed; one that leads nowhere
 * stays, and makes its operation unavailable. `formBodies`: path and method of the operations whose form has something that
 * must be there. `scheme`: of the API where the document names none. Throws where it comes to
 * too much.
 */
const settleSwagger = (root: JsonRecord, scheme: string) => {
  const budget = { ...MOST_OF_PARAMETERS };
  const formBodies: (readonly [string, string])[] = [];
  const paths = Object.entries(recordAt(root, 'paths')).map(([path, data]) => {
    const item = isRecord(data) ? referred(root, data) : data;
    if (!isRecord(item) || typeof item['$ref'] === 'string') return [path, item] as const;
    const { parameters: _ofAll, ...rest } = item;
    const operations = METHODS.flatMap((method) => {
      const operation = memberOf(item, method);
      if (!isRecord(operation)) return [];
      const settled = settleOperation(root, item, referred(root, operation), budget);
      if (settled.needsForm) formBodies.push([path, method]);
      return [[method, settled.operation]];
    });
    return [path, { ...rest, ...Object.fromEntries(operations) }] as const;
  });
  const schemes = textsAt(root, 'schemes').filter((one) => /^https?$/.test(one));
  return {
    // The first is the one that is asked.
    document: {
      ...root,
      swagger: '2.0',
      schemes: schemes.length > 0 ? [...new Set(schemes)].toSorted().toReversed() : [scheme],
      paths: Object.fromEntries(paths),
    },
    formBodies,
  };
};

const referred = (root: JsonRecord, value: JsonRecord): JsonRecord => {
  const found = mergeReferred(root, value);
  return typeof found === 'string' ? value : found;
};

const settleOperation = (root: JsonRecord, item: JsonRecord, operation: JsonRecord, budget: Budget) => {
  const all = [...listAt(item, 'parameters'), ...listAt(operation, 'parameters')]
    .filter(isRecord)
    .map((parameter) => settleParameter(referred(root, parameter)));
  const parameters = [...new Map(all.map((one, place) => [toKey(one, place), one])).values()];
  spend(budget, parameters);
  const forms = parameters.filter((one) => one['in'] === 'formData');
  const consumes = textsAt('consumes' in operation ? operation : root, 'consumes');
  const media = [...new Set(consumes)].slice(0, MOST_MEDIA);
  const hasForm = media.some((type) => /^(multipart\/form-data|application\/x-www-form-urlencoded)$/.test(type));
  const needed = forms.some((one) => one['type'] === 'file')
    ? 'multipart/form-data'
    : 'application/x-www-form-urlencoded';
  const sent = forms.length > 0 && !hasForm ? [needed] : media;
  return {
    operation: {
      ...operation,
      parameters,
      ...(sent.length > 0 ? { consumes: sent } : {}),
      ...('produces' in operation ? { produces: textsAt(operation, 'produces').slice(0, MOST_MEDIA) } : {}),
    },
    needsForm: forms.some((one) => one['required'] === true),
  };
};

/** A list in a form that OpenAPI 3 cannot say gets a style that is none: its operation is unavailable. */
const settleParameter = (parameter: JsonRecord): JsonRecord => {
  const format = textAt(parameter, 'collectionFormat');
  const isKnown =
    format === undefined ||
    ['csv', 'multi'].includes(format) ||
    (['ssv', 'pipes'].includes(format) && ['query', 'formData'].includes(String(parameter['in'])));
  return isKnown || parameter['type'] !== 'array' ? parameter : { ...parameter, style: `collectionFormat ${format}` };
};

// There is one body, whatever it is called.
const toKey = (parameter: JsonRecord, place: number): string =>
  typeof parameter['$ref'] === 'string'
    ? `$ref ${place}`
    : parameter['in'] === 'body'
      ? 'body'
      : `${textAt(parameter, 'in')} ${textAt(parameter, 'name')}`;

type Budget = { values: number; characters: number };

const spend = (budget: Budget, parameters: readonly JsonRecord[]): void => {
  const characters = sizeOf(parameters, budget);
  budget.values -= 20 * parameters.length;
  if (characters === null || budget.values < 0) throw new Error('its parameters are too large together');
  budget.characters -= characters;
};

// The thread that makes an OpenAPI 3.0 document of one of Swagger 2.0. What it throws ends it, with the reason.

const data: unknown = workerData;
if (!isRecord(data)) throw new Error('it is not an object');
const { document, formBodies } = settleSwagger(recordAt(data, 'root'), textAt(data, 'scheme') ?? 'https');
const upgraded: unknown = upgradeFromTwoToThree(structuredClone(document));
if (!isRecord(upgraded)) throw new Error('it is not an object');
// The converter does not say that a form must be there.
for (const [path, method] of formBodies) {
  const body = memberOf(recordAt(recordAt(recordAt(upgraded, 'paths'), path), method), 'requestBody');
  if (isRecord(body)) Reflect.set(body, 'required', true);
}
parentPort?.postMessage(upgraded);
