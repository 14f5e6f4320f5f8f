type Schema = Readonly<Record<string, unknown>>;

const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const listOf = (value: unknown): readonly unknown[] | null => (Array.isArray(value) ? value : null);

/** What a local `$ref` (RFC 6901 pointer behind `#`) points to; undefined where there is nothing. */
export const resolveReference = (reference: unknown, root: unknown): unknown => {
  if (typeof reference !== 'string' || !reference.startsWith('#')) return undefined;
  return reference
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>(
      (target, step) =>
        typeof target === 'object' && target !== null && Object.hasOwn(target, step)
          ? Reflect.get(target, step)
          : undefined,
      root,
    );
};

const MAX_DEPTH = 64;

/**
 * Whether a JSON Schema takes null, as far as its type, literals and combinations tell; what tells nothing takes it.
 * Strict schemas make nullable what this refuses, and what a model then sends as null is dropped: both must agree.
 */
export const acceptsNull = (schema: unknown, root: unknown, visited: ReadonlySet<unknown> = new Set()): boolean => {
  if (!isSchema(schema)) return schema !== false;
  // A circle of references says nothing, and what has no end is not looked into.
  if (visited.has(schema) || visited.size > MAX_DEPTH) return true;
  const seen = new Set([...visited, schema]);
  const accepts = (part: unknown): boolean => acceptsNull(part, root, seen);
  const someOf = (word: string): boolean => listOf(schema[word])?.some(accepts) ?? true;
  return (
    acceptsLiteral(schema) &&
    someOf('anyOf') &&
    someOf('oneOf') &&
    (listOf(schema['allOf'])?.every(accepts) ?? true) &&
    (schema['$ref'] === undefined || accepts(resolveReference(schema['$ref'], root) ?? true))
  );
};

const acceptsLiteral = (schema: Schema): boolean => {
  const type = schema['type'];
  if (type !== undefined && ![type].flat().includes('null')) return false;
  if ('const' in schema && schema['const'] !== null) return false;
  return listOf(schema['enum'])?.includes(null) ?? true;
};
