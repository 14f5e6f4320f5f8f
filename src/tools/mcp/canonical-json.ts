const MAX_DEPTH = 64;
const MAX_LENGTH = 1_048_576;

/** The same text for the same JSON value, in whatever order its members come; null where it is too deep or too large. */
export const toCanonical = (value: unknown): string | null => {
  const text = write(value, 0);
  return text === null || text.length > MAX_LENGTH ? null : text;
};

const write = (value: unknown, depth: number): string | null => {
  if (depth > MAX_DEPTH) return null;
  if (Array.isArray(value))
    return join(
      value.map((item) => write(item, depth + 1)),
      '[',
      ']',
    );
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return join(
    members.map(([name, member]) => {
      const text = write(member, depth + 1);
      return text === null ? null : `${JSON.stringify(name)}:${text}`;
    }),
    '{',
    '}',
  );
};

const join = (parts: readonly (string | null)[], open: string, close: string): string | null =>
  parts.includes(null) ? null : `${open}${parts.join(',')}${close}`;
