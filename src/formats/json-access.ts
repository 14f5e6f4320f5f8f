export type JsonObject = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const isArray = (value: unknown): value is readonly unknown[] => Array.isArray(value);

/** A member of whatever was received; undefined where there is none. */
export const member = (value: unknown, key: string): unknown =>
  hasMembers(value) && Object.hasOwn(value, key) ? value[key] : undefined;

const hasMembers = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null;

/** A member that is an array; none where it is anything else. */
export const listOf = (value: unknown, key: string): readonly unknown[] => {
  const list = member(value, key);
  return isArray(list) ? list : [];
};

/** What the `text` members of a list of blocks say; null where it is no list. */
export const textOfBlocks = (blocks: unknown): string | null =>
  isArray(blocks)
    ? blocks
        .map((block) => member(block, 'text'))
        .filter((text) => typeof text === 'string')
        .join('\n')
    : null;

/** The id an answer is matched by, as asked. "" where the caller sent none that could be matched. */
export const toAskedId = (id: unknown): string | number => (typeof id === 'string' || typeof id === 'number' ? id : '');

/** The name as asked, null where there is none. */
export const toAskedName = (name: unknown): string | null => (typeof name === 'string' ? name : null);
