import fc from 'fast-check';
import type { ToArbitrary } from './openapi-arbitrary.ts';
import type { Operation, Parameter } from './openapi-document.ts';

export type FuzzHeaders = Readonly<Record<string, string>>;

/** A request as it is sent, byte for byte; what no client would send included. */
export type FuzzRequest = {
  readonly method: string;
  /** The request target as it stands in the first line. */
  readonly target: string;
  readonly headers: FuzzHeaders;
  readonly body: string | Uint8Array | null;
};

/** A request that the document allows, and what it was made of. */
export type ValidRequest = FuzzRequest & { readonly operation: string };

/** Requests of one operation, without any key. */
export const toValidRequests = (operation: Operation, toArbitrary: ToArbitrary): fc.Arbitrary<ValidRequest> =>
  fc
    .record({
      path: toValues(operation, 'path', toArbitrary),
      query: toValues(operation, 'query', toArbitrary),
      header: toValues(operation, 'header', toArbitrary),
      body:
        operation.body === null
          ? fc.constant(null)
          : toArbitrary('body', operation.body).map((body) => JSON.stringify(body)),
    })
    .map(({ path, query, header, body }) => ({
      operation: operation.id,
      method: operation.method,
      target: `${operation.path.replaceAll(/\{(\w+)\}/g, (_whole, name) => encodeURIComponent(path[name] ?? ''))}${toQuery(query)}`,
      headers: { ...header, ...(body === null ? {} : { 'content-type': 'application/json' }) },
      body,
    }));

const toQuery = (values: Values): string => {
  const query = new URLSearchParams(values).toString();
  return query === '' ? '' : `?${query}`;
};

type Values = Readonly<Record<string, string>>;

const toValues = (operation: Operation, place: Parameter['in'], toArbitrary: ToArbitrary): fc.Arbitrary<Values> => {
  const parameters = operation.parameters.filter((parameter) => parameter.in === place);
  // Not of their examples: half of the requests would name one format, whatever their bodies are.
  const values = parameters.map(({ name, schema }) => [name, toArbitrary(name, schema).map(String)]);
  const requiredKeys = parameters.filter(({ required }) => required).map(({ name }) => name);
  return fc.record(Object.fromEntries(values), { requiredKeys });
};
