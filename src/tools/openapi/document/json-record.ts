/** An object of a parsed document. Nothing is known of its members. */
export type JsonRecord = Readonly<Record<string, unknown>>;

export const isRecord = (value: unknown): value is JsonRecord =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** An own member: a document may call one `__proto__` or `constructor`. */
export const memberOf = (record: JsonRecord, name: string): unknown =>
  Object.hasOwn(record, name) ? record[name] : undefined;

/** The member where it is an object, else an empty one. */
export const recordAt = (record: JsonRecord, name: string): JsonRecord => {
  const member = memberOf(record, name);
  return isRecord(member) ? member : {};
};

/** The member where it is a text with something in it. */
export const textAt = (record: JsonRecord, name: string): string | undefined => {
  const member = memberOf(record, name);
  return typeof member === 'string' && member.trim() !== '' ? member : undefined;
};

/** The member where it is a list, else an empty one. */
export const listAt = (record: JsonRecord, name: string): readonly unknown[] => {
  const member = memberOf(record, name);
  return Array.isArray(member) ? member : [];
};

/** The texts of a list. */
export const textsAt = (record: JsonRecord, name: string): readonly string[] =>
  listAt(record, name).filter((item) => typeof item === 'string');
