import { recordOf, resolve } from './form-field.ts';
import { isRecord, type JsonRecord, listOf, memberOf, oncePerObject, parseJson } from './json.ts';

/** One call as a body of `POST /tool-calls`. Arguments that are not compact JSON go as the text that they are, as models send them. */
export const toCallBody = (name: string, argumentsText: string): string => {
  const parsed = parseJson(argumentsText);
  const isExact = 'value' in parsed && JSON.stringify(parsed.value) === argumentsText;
  const sent = isExact ? argumentsText : JSON.stringify(argumentsText);
  return `{"calls":[{"id":"1","name":${JSON.stringify(name)},"arguments":${sent}}]}`;
};

/**
 * A command for a shell that sends a JSON body; all that is not plain ASCII, and the quotation mark, is written as an escape of JSON:
 * what a stranger wrote cannot end the command's quotes or turn its text around. The key stays a variable.
 */
export const toCurl = (body: string, key: string, address: string): string =>
  [
    `curl -sS '${address.replaceAll("'", '%27')}'`,
    ...(key === '' ? [] : ['  -H "Authorization: Bearer $RECOURSE_API_KEY"']),
    "  -H 'Content-Type: application/json'",
    `  -d '${body.replace(/[^\x20-\x7e]|'/g, toEscape)}'`,
  ].join(' \\\n');

const toEscape = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;

const MAX_DEPTH = 5;

/** Arguments that fit a tool's input schema as far as types and limits say: its example if it has one, else what it requires. */
export const toExample = (root: JsonRecord): unknown => exampleOf(root, root, MAX_DEPTH);

/** The same as JSON. */
export const exampleText = oncePerObject((schema: JsonRecord) => JSON.stringify(toExample(schema)));

const exampleOf = (declared: JsonRecord, root: JsonRecord, depth: number): unknown => {
  const schema = resolve(declared, root);
  const given = [...listOf(schema['examples']), schema['default'], schema['const'], ...listOf(schema['enum'])];
  const [first] = given.filter((value) => value !== undefined);
  if (first !== undefined || depth === 0) return first ?? null;
  return makeExample(schema, root, depth);
};

const makeExample = (schema: JsonRecord, root: JsonRecord, depth: number): unknown => {
  switch (listOf(schema['type'])[0] ?? schema['type']) {
    case 'string':
      return textFor(schema);
    case 'integer':
    case 'number':
      return numberFor(schema);
    case 'boolean':
      return true;
    case 'array':
      return Number(schema['minItems'] ?? 0) > 0 ? [exampleOf(recordOf(schema['items']), root, depth - 1)] : [];
    default:
      return isRecord(schema['properties']) ? membersFor(schema, root, depth) : {};
  }
};

const membersFor = (schema: JsonRecord, root: JsonRecord, depth: number): unknown =>
  Object.fromEntries(
    listOf(schema['required']).map((name) => {
      const member = recordOf(memberOf(schema['properties'], String(name)));
      return [String(name), exampleOf(member, root, depth - 1)];
    }),
  );

const FORMATS: Readonly<Record<string, string>> = {
  'date-time': '2026-01-31T12:00:00Z',
  date: '2026-01-31',
  time: '12:00:00Z',
  email: 'name@example.com',
  uri: 'https://example.com/',
  uuid: '00000000-0000-4000-8000-000000000000',
};

const textFor = ({ format, minLength, maxLength }: JsonRecord): string => {
  const text = (typeof format === 'string' && FORMATS[format]) || 'text';
  const least = Math.min(Number(minLength ?? 0) || 0, 1_000);
  return text.padEnd(least, 'x').slice(0, Number(maxLength ?? Number.POSITIVE_INFINITY));
};

const numberFor = ({ minimum, exclusiveMinimum, maximum }: JsonRecord): number => {
  const least = Math.max(Number(minimum ?? 1), Number(exclusiveMinimum ?? 0) + 1);
  return Math.min(Math.abs(least) < Number.MAX_SAFE_INTEGER ? least : 1, Number(maximum ?? Number.POSITIVE_INFINITY));
};
