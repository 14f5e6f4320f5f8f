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
import { METHODS, mergeReferred } from './references.ts';
import { sizeOf } from './value-size.ts';

// Of all parameters, written out wherever they are referred to. The largest of Azure's documents has 100 000 values.
const MOST_OF_PARAMETERS = { values: 1_000_000, characters: 33_554_432 };
const MOST_MEDIA = 20;

/**
 * What the converter does not know by itself: a parameter of a path, or one that is referred to, may be the body or a
 * member of a form, and forms are sent as forms where nothing says how. References are followed; one that leads nowhere
 * stays, and makes its operation unavailable. `scheme`: of the API where the document names none. Throws where it comes to
 * too much.
 */
const settleSwagger = (root: JsonRecord, scheme: string): JsonRecord => {
  const budget = { ...MOST_OF_PARAMETERS };
  const paths = Object.entries(recordAt(root, 'paths')).map(([path, data]) => {
    const item = isRecord(data) ? referred(root, data) : data;
    if (!isRecord(item) || typeof item['$ref'] === 'string') return [path, item] as const;
    const { parameters: _ofAll, ...rest } = item;
    const operations = METHODS.flatMap((method) => {
      const operation = memberOf(item, method);
      return isRecord(operation) ? [[method, settleOperation(root, item, referred(root, operation), budget)]] : [];
    });
    return [path, { ...rest, ...Object.fromEntries(operations) }] as const;
  });
  const schemes = textsAt(root, 'schemes').filter((one) => /^https?$/.test(one));
  return {
    ...root,
    swagger: '2.0',
    // The first is the one that is asked.
    schemes: schemes.length > 0 ? [...new Set(schemes)].toSorted().toReversed() : [scheme],
    paths: Object.fromEntries(paths),
  };
};

const referred = (root: JsonRecord, value: JsonRecord): JsonRecord => {
  const found = mergeReferred(root, value);
  return typeof found === 'string' ? value : found;
};

const FORM = /^(multipart\/form-data|application\/x-www-form-urlencoded)$/;

const settleOperation = (root: JsonRecord, item: JsonRecord, operation: JsonRecord, budget: Budget): JsonRecord => {
  const all = [...listAt(item, 'parameters'), ...listAt(operation, 'parameters')]
    .filter(isRecord)
    .map((parameter) => settleParameter(referred(root, parameter)));
  const parameters = [...new Map(all.map((one, place) => [keyOf(one, place), one])).values()];
  spend(budget, parameters);
  const forms = parameters.filter((one) => one['in'] === 'formData');
  const media = [...new Set(textsAt('consumes' in operation ? operation : root, 'consumes'))].slice(0, MOST_MEDIA);
  const hasFile = forms.some((one) => one['type'] === 'file');
  const needed = hasFile ? 'multipart/form-data' : 'application/x-www-form-urlencoded';
  const sent = forms.length > 0 && !media.some((type) => FORM.test(type)) ? [needed] : media;
  return {
    ...operation,
    parameters,
    ...(sent.length > 0 ? { consumes: sent } : {}),
    ...('produces' in operation ? { produces: textsAt(operation, 'produces').slice(0, MOST_MEDIA) } : {}),
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
const keyOf = (parameter: JsonRecord, place: number): string =>
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
const document = settleSwagger(recordAt(data, 'root'), textAt(data, 'scheme') ?? 'https');
const upgraded: unknown = upgradeFromTwoToThree(structuredClone(document));
if (!isRecord(upgraded)) throw new Error('it is not an object');
// The converter does not say that a form must be there whose members must.
for (const item of Object.values(recordAt(upgraded, 'paths')))
  for (const method of METHODS) {
    const body = memberOf(memberOf(item, method), 'requestBody');
    const contents = isRecord(body) ? Object.entries(recordAt(body, 'content')) : [];
    const forms = contents.filter(([type]) => FORM.test(type)).map(([, content]) => memberOf(content, 'schema'));
    if (isRecord(body) && forms.some((form) => listAt(form, 'required').length > 0))
      Reflect.set(body, 'required', true);
  }
parentPort?.postMessage(upgraded);
