import { isRecord } from 'recourse-server/contract/json-record';
import type { JsonSchema } from 'recourse-server/contract/tool-description';

/** An argument that a client repeats in a header `Mcp-Param-{name}`, by its path in the arguments. */
export type ParamHeader = { readonly name: string; readonly path: readonly string[]; readonly isNumber: boolean };

const KEYWORD = 'x-mcp-header';
// RFC 9110, section 5.6.2.
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const TYPES: ReadonlySet<unknown> = new Set(['string', 'integer', 'boolean']);

/** Schemas under names. */
const NAMED: ReadonlySet<string> = new Set(['$defs', 'definitions', 'dependentSchemas', 'patternProperties']);
/** What these hold are values, and no schemas. */
const VALUES: ReadonlySet<string> = new Set(['const', 'default', 'enum', 'examples', 'properties']);

type Node = { readonly schema: JsonSchema; readonly path: readonly string[]; readonly isReachable: boolean };

/**
 * The headers that a tool's input schema declares: MCP 2026-07-28, Streamable HTTP, custom headers. A declaration stands
 * at an argument of a primitive type that is reached by `properties` alone, and its name is a token that no other has. `fault`:
 * why no client may offer a tool with this schema, null where it may.
 */
export const readParamHeaders = (root: JsonSchema) => {
  const declared = nodesIn(root).flatMap((node) => (KEYWORD in node.schema ? [findHeader(node)] : []));
  const headers = new Map<string, ParamHeader>();
  const faults: string[] = [];
  for (const header of declared) {
    if (typeof header === 'string') faults.push(header);
    else if (headers.has(header.name.toLowerCase())) faults.push(`'${header.name}' is declared twice`);
    else headers.set(header.name.toLowerCase(), header);
  }
  const [fault] = faults;
  return {
    headers: [...headers.values()],
    fault: fault === undefined ? null : `its ${KEYWORD} is not valid: ${fault}`,
  };
};

const nodesIn = (schema: JsonSchema): readonly Node[] => {
  const nodes: Node[] = [{ schema, path: [], isReachable: true }];
  // A list that grows while it is walked is walked to its end.
  for (const node of nodes) nodes.push(...partsOf(node));
  return nodes;
};

const findHeader = ({ schema, path, isReachable }: Node): ParamHeader | string => {
  const { [KEYWORD]: name, type } = schema;
  if (!isReachable || path.length === 0) return 'it is on a schema that is not a single argument';
  const where = `at '${path.join('.').slice(0, MOST_SHOWN)}'`;
  if (typeof name !== 'string' || !TOKEN.test(name)) return `${where} it is not a header name`;
  if (!TYPES.has(type)) return `${where} the type is not string, integer or boolean`;
  return { name, path, isNumber: type === 'integer' };
};

const MOST_SHOWN = 100;

const partsOf = ({ schema, path, isReachable }: Node): readonly Node[] =>
  Object.entries(schema).flatMap(([word, value]) => {
    if (word === 'properties') {
      const members = isRecord(value) ? Object.entries(value) : [];
      return members.flatMap(([name, part]) => listNode(part, [...path, name], isReachable));
    }
    if (VALUES.has(word)) return [];
    const parts = NAMED.has(word) && isRecord(value) ? Object.values(value) : [value].flat();
    return parts.flatMap((part) => listNode(part, path, false));
  });

const listNode = (schema: unknown, path: readonly string[], isReachable: boolean): readonly Node[] =>
  isRecord(schema) ? [{ schema, path, isReachable }] : [];

/**
 * Why the headers of a call do not say what its arguments say; null where they do. `headerOf` takes the whole name of a
 * header, in small letters. An argument that is absent or null has no header, and one that comes all the same says nothing.
 */
export const findParamMismatch = (
  headers: readonly ParamHeader[],
  args: unknown,
  headerOf: (name: string) => string | undefined,
): string | null => {
  for (const header of headers) {
    const mismatch = findMismatch(header, valueAt(args, header.path), headerOf);
    if (mismatch !== null) return mismatch;
  }
  return null;
};

const findMismatch = (
  { name, path, isNumber }: ParamHeader,
  value: unknown,
  headerOf: (name: string) => string | undefined,
): string | null => {
  const expected = formatHeader(value);
  if (expected === null) return null;
  const header = `Mcp-Param-${name}`;
  const sent = headerOf(header.toLowerCase());
  if (sent === undefined) return `${header} is missing for the argument '${path.join('.')}'`;
  const decoded = decode(sent.trim());
  if (decoded === null) return `${header} is not valid base64 of UTF-8`;
  const isSame = decoded === expected || (isNumber && DECIMAL.test(decoded) && Number(decoded) === value);
  return isSame ? null : `${header} differs from the argument '${path.join('.')}'`;
};

const DECIMAL = /^-?\d+(\.\d+)?$/;

const valueAt = (args: unknown, path: readonly string[]): unknown => {
  let value = args;
  for (const name of path) value = isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return value;
};

// Another value than a primitive is the executor's to refuse, and a number beyond doubles has no one spelling.
const formatHeader = (value: unknown): string | null => {
  if (typeof value === 'number') return isExact(value) ? String(value) : null;
  return typeof value === 'string' || typeof value === 'boolean' ? String(value) : null;
};

const isExact = (value: number): boolean =>
  Number.isInteger(value) ? Number.isSafeInteger(value) : Number.isFinite(value);

const ENCODED = /^=\?base64\?((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)\?=$/;

/** A header's text, which clients write as base64 where it is not plain; null where that cannot be read. */
const decode = (text: string): string | null => {
  if (!text.startsWith('=?base64?') || !text.endsWith('?=')) return text;
  const encoded = ENCODED.exec(text)?.[1];
  if (encoded === undefined) return null;
  const bytes = Buffer.from(encoded, 'base64');
  const decoded = bytes.toString('utf8');
  return Buffer.from(decoded, 'utf8').equals(bytes) ? decoded : null;
};
