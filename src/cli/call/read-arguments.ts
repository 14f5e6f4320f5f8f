import type { JsonSchema } from '../../contract/tool-description.ts';
import { parseJson } from '../../json/parse-json.ts';
import { toPlainText } from '../terminal/plain-text.ts';
import { holdsInfinity, toValue } from './to-value.ts';

export type Arguments = Readonly<Record<string, unknown>>;

/** `name=value` words as one object, each value read as the input schema of the tool says. null = no schema is known. */
export const readPairs = (
  pairs: readonly string[],
  schema: JsonSchema | null,
): { readonly arguments: Arguments } | { readonly wrong: string } => {
  const texts = new Map<string, string[]>();
  for (const pair of pairs) {
    const at = pair.indexOf('=');
    if (at < 1) return { wrong: `'${pair}' is no argument: write name=value, for example ${exampleOf(schema)}.` };
    const name = pair.slice(0, at);
    texts.set(name, [...(texts.get(name) ?? []), pair.slice(at + 1)]);
  }
  const values = [...texts].map(([name, given]) => [name, toValue(given, schema, name)] as const);
  const twice = values.find(([, value]) => value === undefined);
  if (twice !== undefined) return { wrong: `${twice[0]} is given more than once, and it is no list: give it once.` };
  return { arguments: Object.fromEntries(values) };
};

const exampleOf = (schema: JsonSchema | null): string => {
  const members = schema?.['properties'];
  const [name = 'path'] = typeof members === 'object' && members !== null ? Object.keys(members) : [];
  return `${name}=…`;
};

/** A JSON object as the arguments. */
export const readObject = (json: string): { readonly arguments: Arguments } | { readonly wrong: string } => {
  const parsed = parseJson(json);
  if (!parsed.ok) return { wrong: `--args is no JSON: ${toPlainText(parsed.problem)}. ${EXAMPLE}` };
  const { value } = parsed;
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { wrong: `--args must be a JSON object. ${EXAMPLE}` };
  if (holdsInfinity(value)) return { wrong: '--args holds a number that is too large: send a smaller one, or a text.' };
  return { arguments: { ...value } };
};

const EXAMPLE = `Write for example --args '{"path":"notes.md"}', or name=value words.`;
