// What arrives is read member by member, and what is missing has a plain default: the page shows what it can of an
// answer by an older or newer service, and never breaks on one.

export type JsonRecord = Readonly<Record<string, unknown>>;

export const isRecord = (value: unknown): value is JsonRecord =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The value as a record; an empty one where it is something else. */
export const recordOf = (value: unknown): JsonRecord => (isRecord(value) ? value : {});

/** A member of the record's own, never one of its prototype. */
export const memberOf = (record: JsonRecord, name: string): unknown =>
  Object.hasOwn(record, name) ? record[name] : undefined;

export const textOf = (value: unknown, otherwise = ''): string => (typeof value === 'string' ? value : otherwise);

export const numberOf = (value: unknown): number | null => (typeof value === 'number' ? value : null);

export const countOf = (value: unknown): number => numberOf(value) ?? 0;

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

export const recordsOf = (value: unknown): readonly JsonRecord[] => listOf(value).map(recordOf);
