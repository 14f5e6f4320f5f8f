import type { JsonSchema } from '../../contract/tool-description.ts';
import { toCanonicalText } from '../../json/canonical-text.ts';
import { parseJson } from '../../json/parse-json.ts';
import { isSensitive, marksSensitive } from '../../tools/json-schema.ts';

const HIDDEN = '(hidden)';

/** Arguments, given as canonical text or as the text that cannot be read, without what `hiding` marks sensitive. */
export const hideSensitive = (
  text: string,
  { hiding, readable }: { readonly hiding: JsonSchema | null; readonly readable: boolean },
): string => {
  if (hiding === null) return text;
  const parsed = parseJson(text);
  return readable && parsed.ok ? toCanonicalText(hideMembers(parsed.value, hiding, [])) : HIDDEN;
};

/** The schema, where it marks something as sensitive. */
export const toHiding = (schema: JsonSchema): JsonSchema | null => (marksSensitive(schema) ? schema : null);

// Recursive: arguments that were read are at most 64 levels deep.
const hideMembers = (value: unknown, schema: JsonSchema, path: readonly PropertyKey[]): unknown => {
  if (path.length > 0 && isSensitive(schema, path)) return HIDDEN;
  if (Array.isArray(value)) return value.map((item, place) => hideMembers(item, schema, [...path, place]));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, hideMembers(member, schema, [...path, name])]),
  );
};
