import type { JsonSchema } from '../contract/tool-description.ts';
import { propertiesOf, requiredOf } from './json-schema.ts';

const MOST_EXAMPLE_PARAMETERS = 4;

/** One arguments object that looks like what the schema wants, as JSON text: `{"x": 1, "y": 2}`. */
export const toExampleArguments = (schema: JsonSchema): string => {
  const properties = propertiesOf(schema);
  const required = requiredOf(schema);
  const names = (required.length > 0 ? required : [...properties.keys()]).slice(0, MOST_EXAMPLE_PARAMETERS);
  const members = names.map((name, position) => {
    const example = toExample(properties.get(name) ?? {}, position + 1);
    return `${JSON.stringify(name)}: ${JSON.stringify(example)}`;
  });
  return `{${members.join(', ')}}`;
};

const firstOf = (value: unknown): unknown => (Array.isArray(value) ? value[0] : undefined);

const toExample = (schema: JsonSchema, position: number): unknown => {
  const given = firstOf(schema['examples']) ?? schema['default'] ?? schema['const'] ?? firstOf(schema['enum']);
  if (given !== undefined) return given;
  switch (Array.isArray(schema['type']) ? schema['type'][0] : schema['type']) {
    case 'number':
    case 'integer':
      return position;
    case 'boolean':
      return true;
    case 'array':
      return [];
    case 'object':
      return {};
    case 'null':
      return null;
    default:
      return 'text';
  }
};
