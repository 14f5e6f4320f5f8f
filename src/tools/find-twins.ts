/** The places of two items that are equal as JSON Schema has it, whatever the order of their members; null where none are. */
export const findTwins = (items: readonly unknown[]): readonly [number, number] | null => {
  const places = new Map<string, number>();
  for (const [place, item] of items.entries()) {
    const text = toComparable(item);
    const earlier = places.get(text);
    if (earlier !== undefined) return [place, earlier];
    places.set(text, place);
  }
  return null;
};

/** Equal for equal JSON values. -0 is 0, as in JSON Schema. */
const toComparable = (value: unknown): string =>
  JSON.stringify(value, (_key, member: unknown) => (isRecord(member) ? toSorted(member) : member)) ?? '';

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const toSorted = (record: Readonly<Record<string, unknown>>): unknown =>
  Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)));
