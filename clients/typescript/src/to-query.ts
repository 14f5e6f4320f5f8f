/** A query with its `?`, of those parameters that have a value; "" where none has. */
export const toQuery = (parameters: Readonly<Record<string, string | number | true | undefined>>): string => {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) query.set(name, String(value));
  return query.size === 0 ? '' : `?${query}`;
};
