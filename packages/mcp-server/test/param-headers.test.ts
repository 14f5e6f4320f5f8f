import { expect, test } from 'vitest';
import { findParamMismatch, readParamHeaders } from '#src/param-headers.ts';

const region = { type: 'string', 'x-mcp-header': 'Region' };
const objectOf = (properties: object) => ({ type: 'object', properties });

test('declarations are found wherever properties alone lead', () => {
  const schema = objectOf({ region, deep: objectOf({ count: { type: 'integer', 'x-mcp-header': 'Count' } }) });
  expect(readParamHeaders(schema)).toEqual({
    headers: [
      { name: 'Region', path: ['region'], isNumber: false },
      { name: 'Count', path: ['deep', 'count'], isNumber: true },
    ],
    fault: null,
  });
  expect(readParamHeaders(objectOf({ 'x-mcp-header': { type: 'string' } }))).toEqual({ headers: [], fault: null });
});

test.each([
  [objectOf({ a: { type: 'number', 'x-mcp-header': 'A' } }), "at 'a' the type is not string, integer or boolean"],
  [objectOf({ a: { 'x-mcp-header': 'A' } }), "at 'a' the type is not string, integer or boolean"],
  [objectOf({ a: { type: 'string', 'x-mcp-header': '' } }), "at 'a' it is not a header name"],
  [objectOf({ a: { type: 'string', 'x-mcp-header': 'A B' } }), "at 'a' it is not a header name"],
  [objectOf({ a: { type: 'string', 'x-mcp-header': 7 } }), "at 'a' it is not a header name"],
  [objectOf({ a: region, b: { ...region, 'x-mcp-header': 'REGION' } }), "'REGION' is declared twice"],
  [objectOf({ a: { type: 'array', items: region } }), 'it is on a schema that is not a single argument'],
  [objectOf({ a: { anyOf: [region, { type: 'null' }] } }), 'it is on a schema that is not a single argument'],
  [{ ...objectOf({}), $defs: { a: region } }, 'it is on a schema that is not a single argument'],
  [{ ...objectOf({}), 'x-mcp-header': 'A' }, 'it is on a schema that is not a single argument'],
])('%j is no schema to offer', (schema, fault) => {
  expect(readParamHeaders(schema).fault).toBe(`its x-mcp-header is not valid: ${fault}`);
});

const { headers } = readParamHeaders(
  objectOf({
    region,
    count: { type: 'integer', 'x-mcp-header': 'Count' },
    sure: { type: 'boolean', 'x-mcp-header': 'Sure' },
  }),
);
const mismatchOf = (args: unknown, given: Readonly<Record<string, string>>) =>
  findParamMismatch(headers, args, (name) => given[name]);

test.each([
  [{}, {}],
  [{ region: null }, { 'mcp-param-region': 'anything' }],
  [{ region: 'eu' }, { 'mcp-param-region': ' eu ' }],
  [{ region: 'zürich' }, { 'mcp-param-region': '=?base64?esO8cmljaA==?=' }],
  [{ count: 42 }, { 'mcp-param-count': '42.0' }],
  [{ sure: true }, { 'mcp-param-sure': 'true' }],
  [{ region: ['no text'] }, {}],
  ['no object', {}],
])('arguments %j and headers %j say the same', (args, given) => {
  expect(mismatchOf(args, given)).toBeNull();
});

test.each([
  [{ region: 'eu' }, {}, "Mcp-Param-Region is missing for the argument 'region'"],
  [{ region: 'eu' }, { 'mcp-param-region': 'us' }, "Mcp-Param-Region differs from the argument 'region'"],
  [{ region: 'a' }, { 'mcp-param-region': '=?base64?YQ?=' }, 'Mcp-Param-Region is not valid base64 of UTF-8'],
  [{ region: 'a' }, { 'mcp-param-region': '=?base64?/w==?=' }, 'Mcp-Param-Region is not valid base64 of UTF-8'],
  [{ count: 42 }, { 'mcp-param-count': '43' }, "Mcp-Param-Count differs from the argument 'count'"],
  [{ sure: true }, { 'mcp-param-sure': 'True' }, "Mcp-Param-Sure differs from the argument 'sure'"],
])('arguments %j and headers %j do not', (args, given, mismatch) => {
  expect(mismatchOf(args, given)).toBe(mismatch);
});
