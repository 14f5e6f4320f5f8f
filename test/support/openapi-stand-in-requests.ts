import type { Json, StandInDocument } from './openapi-stand-in-schemas.ts';
import { isJson, jsonAt } from './openapi-stand-in-schemas.ts';

/** A request as it came. */
export type CameIn = {
  readonly method: string;
  /** As it was sent. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
};

export type Route = {
  readonly method: string;
  readonly template: string;
  readonly pattern: RegExp;
  /** What the document puts behind a `?` of the path, without placeholders. */
  readonly fixedQuery: readonly (readonly [string, string])[];
  readonly literals: number;
  readonly operation: Json;
  readonly parameters: readonly Json[];
};

const METHODS = ['get', 'head', 'options', 'put', 'post', 'patch', 'delete'];

export const toRoutes = ({ root, follow }: StandInDocument): readonly Route[] =>
  Object.entries(jsonAt(root, 'paths')).flatMap(([template, item]) =>
    METHODS.flatMap((method) => {
      const operation = jsonAt(item, method);
      if (!isJson(item) || !(method in item)) return [];
      const all = [item['parameters'], operation['parameters']].flat().filter(isJson).map(follow);
      const parameters = [...new Map(all.map((one) => [`${one['in']} ${one['name']}`, one])).values()];
      const literal = (template.split(/[?#]/, 1)[0] ?? '').replace(/\{[^{}]*\}/g, '');
      return [
        {
          method: method.toUpperCase(),
          template,
          pattern: toPattern(template.split(/[?#]/, 1)[0] ?? '', parameters),
          fixedQuery: toFixedQuery(template, parameters),
          literals: literal.length,
          operation,
          parameters,
        },
      ];
    }),
  );

// A placeholder is filled by one of its values, else by one segment or a part of one, percent-encoded, and never by nothing.
const toPattern = (template: string, parameters: readonly Json[]): RegExp => {
  const parts = template
    .split(/(\{[^{}]*\})/)
    .map((part) =>
      part.startsWith('{') ? `(${valuesOf(part.slice(1, -1), parameters) ?? ANY_TEXT})` : toLiteralPattern(part),
    );
  return new RegExp(`^${parts.join('')}$`);
};

const ANY_TEXT = "(?:[A-Za-z0-9\\-._~,;=:@$&'()*+!]|%[0-9A-F]{2})+";
const toLiteralPattern = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');

// Where two placeholders are neighbours, only the values tell them apart.
const valuesOf = (name: string, parameters: readonly Json[]): string | null => {
  const values = jsonAt(
    parameters.find((one) => one['in'] === 'path' && one['name'] === name),
    'schema',
  )['enum'];
  return Array.isArray(values) && values.length === 1 ? toLiteralPattern(encodeURIComponent(String(values[0]))) : null;
};

const toFixedQuery = (template: string, parameters: readonly Json[]): Route['fixedQuery'] => {
  const pairs = [...new URLSearchParams(template.split('#', 1)[0]?.split('?')[1] ?? '')];
  return pairs.filter(([name, value]) => !/[{}]/.test(value) && !parameters.some((one) => one['name'] === name));
};

/** What a path asks behind its `?` with a placeholder: `?lat={latitude}` is `lat`, `latitude`. */
const fillingsOf = (template: string): readonly (readonly [string, string])[] =>
  [...(template.split('?')[1] ?? '').matchAll(/([^&=]+)=\{([^{}]*)\}/g)].map(([, key = '', name = '']) => [key, name]);

/** The routes of the path with the most literals. */
export const findRoutes = (routes: readonly Route[], { method, path, query }: CameIn): readonly Route[] => {
  const fitting = routes.filter(
    (route) =>
      route.method === method &&
      route.pattern.test(path) &&
      route.fixedQuery.every(([name, value]) => query.getAll(name).includes(value)),
  );
  const most = Math.max(...fitting.map(({ literals }) => literals));
  return fitting.filter(({ literals }) => literals === most);
};

/** Everything that is wrong with a request by the document; empty where it fits. */
export const faultsOf = (document: StandInDocument, route: Route, request: CameIn): readonly string[] => [
  ...faultsOfParameters(document, route, request),
  ...faultsOfBody(document, route, request),
];

/** The same of what tells operations at one place apart. */
export const faultsOfParameters = (document: StandInDocument, route: Route, request: CameIn): readonly string[] =>
  route.parameters.flatMap((parameter) => faultsOfParameter(document, route, parameter, request));

const IGNORED = new Set(['accept', 'content-type', 'authorization']);

const faultsOfParameter = (
  document: StandInDocument,
  route: Route,
  parameter: Json,
  request: CameIn,
): readonly string[] => {
  const name = String(parameter['name']);
  // OpenAPI: parameters of these names are to be ignored.
  if (parameter['in'] === 'header' && IGNORED.has(name.toLowerCase())) return [];
  const texts = textsOf(route, parameter, request);
  const label = `${parameter['in']} parameter ${name}`;
  const schema = jsonAt(parameter, 'schema');
  // How an object is written is judged by other tests: its members cannot be told from its values here, and in a query
  // they stand for themselves, without its name.
  const isObject = [document.follow(schema)['type']].flat().includes('object') && !('content' in parameter);
  if (texts.length === 0) return isMissed(parameter, isObject) ? [`${label} is missing`] : [];
  if (Object.keys(schema).length === 0 || parameter['style'] === 'deepObject' || isObject) return [];
  const validate = document.validatorOf(schema);
  return toReadings(texts, parameter).some((reading) => validate(reading))
    ? []
    : [`${label} is ${JSON.stringify(texts)}, which does not fit`];
};

const isMissed = (parameter: Json, isObject: boolean): boolean =>
  parameter['required'] === true && !(isObject && parameter['in'] === 'query');

const textsOf = (route: Route, parameter: Json, request: CameIn): readonly string[] => {
  const name = String(parameter['name']);
  switch (parameter['in']) {
    case 'path': {
      const names = [...(route.template.split('?', 1)[0] ?? '').matchAll(/\{([^{}]*)\}/g)].map(([, found]) => found);
      const asked = fillingsOf(route.template).flatMap(([key, filled]) =>
        filled === name ? request.query.getAll(key) : [],
      );
      if (asked.length > 0) return asked;
      const value = route.pattern.exec(request.path)?.[names.indexOf(name) + 1];
      return value === undefined ? [] : [decodeURIComponent(value)];
    }
    case 'query':
      return parameter['style'] === 'deepObject'
        ? [...request.query].flatMap(([key, value]) => (key.startsWith(`${name}[`) ? [value] : []))
        : request.query.getAll(name);
    case 'header':
      return [request.headers[name.toLowerCase()] ?? []].flat();
    default:
      return String(request.headers['cookie'] ?? '')
        .split('; ')
        .flatMap((pair) => (pair.startsWith(`${name}=`) ? [decodeURIComponent(pair.slice(name.length + 1))] : []));
  }
};

/** All that the texts may stand for: a scalar, or a list. */
const toReadings = (texts: readonly string[], { explode }: Json): readonly unknown[] => {
  const items = explode === false ? texts.flatMap((text) => text.split(/[,| ]/)) : texts;
  const lists = [items, items.map(Number), items.map((item) => item === 'true')];
  const scalars = texts.flatMap((text) => [
    text,
    Number(text),
    text === 'true' ? true : text === 'false' ? false : text,
  ]);
  const objects = texts.every((text) => text.startsWith('{')) ? [texts.map((text): unknown => JSON.parse(text))] : [];
  return [...scalars, ...lists, ...objects, ...texts.flatMap((text) => [text.split(',')])];
};

const faultsOfBody = (document: StandInDocument, route: Route, request: CameIn): readonly string[] => {
  const body = document.follow(route.operation['requestBody']);
  const contents = jsonAt(body, 'content');
  if (request.body === '') return body['required'] === true ? ['the body is missing'] : [];
  const sent = String(request.headers['content-type'] ?? '').split(';', 1)[0] ?? '';
  const content = Object.entries(contents).find(([media]) => media.split(';', 1)[0] === sent)?.[1];
  if (content === undefined) return [`the body is ${sent}, one of ${Object.keys(contents).join(', ')} was wanted`];
  return /json/.test(sent) ? faultsOfJson(document, jsonAt(content, 'schema'), request.body) : [];
};

const faultsOfJson = (document: StandInDocument, schema: Json, body: string): readonly string[] => {
  const validate = document.validatorOf(schema);
  return validate(JSON.parse(body))
    ? []
    : (validate.errors ?? []).map(({ instancePath, message }) => `body${instancePath} ${message}`);
};
