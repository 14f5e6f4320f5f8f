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
          pattern: toPattern(template.split(/[?#]/, 1)[0] ?? ''),
          fixedQuery: toFixedQuery(template, parameters),
          literals: literal.length,
          operation,
          parameters,
        },
      ];
    }),
  );

// A placeholder is filled by one segment or a part of one, percent-encoded, and never by nothing.
const toPattern = (template: string): RegExp => {
  const parts = template
    .split(/(\{[^{}]*\})/)
    .map((part) =>
      part.startsWith('{')
        ? "((?:[A-Za-z0-9\\-._~,;=:@$&'()*+!]|%[0-9A-F]{2})+)"
        : part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'),
    );
  return new RegExp(`^${parts.join('')}$`);
};

const toFixedQuery = (template: string, parameters: readonly Json[]): Route['fixedQuery'] => {
  const pairs = [...new URLSearchParams(template.split('#', 1)[0]?.split('?')[1] ?? '')];
  return pairs.filter(([name, value]) => !/[{}]/.test(value) && !parameters.some((one) => one['name'] === name));
};

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
  ...route.parameters.flatMap((parameter) => faultsOfParameter(document, route, parameter, request)),
  ...faultsOfBody(document, route, request),
];

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
  if (texts.length === 0) return parameter['required'] === true ? [`${label} is missing`] : [];
  const schema = jsonAt(parameter, 'schema');
  // How an object is written is judged by other tests: its members cannot be told from its values here.
  const isObject = [document.follow(schema)['type']].flat().includes('object') && !('content' in parameter);
  if (Object.keys(schema).length === 0 || parameter['style'] === 'deepObject' || isObject) return [];
  const validate = document.validatorOf(schema);
  return toReadings(texts, parameter).some((reading) => validate(reading))
    ? []
    : [`${label} is ${JSON.stringify(texts)}, which does not fit`];
};

const textsOf = (route: Route, parameter: Json, request: CameIn): readonly string[] => {
  const name = String(parameter['name']);
  switch (parameter['in']) {
    case 'path': {
      const names = [...route.template.matchAll(/\{([^{}]*)\}/g)].map(([, found]) => found);
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
  return [...scalars, ...lists, ...texts.flatMap((text) => [text.split(',')])];
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
