/** The values of an `enum` or of `examples`, each as `toTypedValue` has it and once. */
export const toTypedValues = (values: readonly unknown[], types: readonly unknown[]): readonly unknown[] => {
  const typed = values.map((value) => toTypedValue(value, types));
  return [...new Map(typed.map((value) => [JSON.stringify(value), value])).values()];
};

/**
 * A value of a schema as the types beside it have it: YAML without quotes makes a number of `"1"`, and quotes a text of 1.
 * Where nothing of the value would change but its type it is of the first type that has it; else it stays what it is.
 */
export const toTypedValue = (value: unknown, types: readonly unknown[]): unknown => {
  if (types.length === 0 || types.some((type) => isOfType(value, type))) return value;
  const candidates = typeof value === 'string' ? [toNumber(value), BOOLEANS.get(value)] : [toText(value)];
  return candidates.find((one) => one !== undefined && types.some((type) => isOfType(one, type))) ?? value;
};

const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['false', false],
]);

const toText = (value: unknown): string | undefined =>
  typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined;

// A number of another spelling (01, 1.0) may not be meant as one, and a long one loses digits.
const toNumber = (text: string): number | undefined => (String(Number(text)) === text ? Number(text) : undefined);

const isOfType = (value: unknown, type: unknown): boolean => {
  if (type === 'integer') return Number.isInteger(value);
  if (type === 'number') return Number.isFinite(value);
  if (type === 'array') return Array.isArray(value);
  if (type === 'null') return value === null;
  if (type === 'object') return typeof value === 'object' && value !== null && !Array.isArray(value);
  return typeof value === type;
};
