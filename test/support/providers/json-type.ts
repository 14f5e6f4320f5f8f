export type JsonObject = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The list's objects; whatever else is in it is left out. */
export const objectsOf = (value: unknown): readonly JsonObject[] =>
  Array.isArray(value) ? value.filter((item) => isObject(item)) : [];

export const isArrayOfObjects = (value: unknown): value is readonly JsonObject[] =>
  Array.isArray(value) && value.every(isObject);

/** The JSON type with its article, as error texts name it. */
export const nameType = (value: unknown): string => {
  if (value === null || value === undefined) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'object') return 'an object';
  if (typeof value === 'number') return Number.isInteger(value) ? 'an integer' : 'a decimal';
  return `a ${typeof value}`;
};

/** The text of a content that is a text or a list of blocks with `text`. */
export const textOf = (content: unknown): string => {
  if (typeof content === 'string') return content;
  return objectsOf(content)
    .map(({ text }) => (typeof text === 'string' ? text : ''))
    .join('');
};

/** Every element that comes a second time. */
export const repeatedOf = (values: readonly string[]): readonly string[] =>
  values.filter((value, place) => values.indexOf(value) !== place);
