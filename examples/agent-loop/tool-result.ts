/** One call as the model asks for it. */
export type ToolCall = {
  readonly id: string;
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
};

/** What this loop reads of a result. The service sends more: see its /docs. */
export type ToolResult = {
  readonly name: string | null;
  readonly success: boolean;
  readonly outcome: string;
  readonly value: unknown;
  /** For the model. Nothing here decides by it. */
  readonly message: string;
  readonly error: { readonly code: string; readonly fatal: boolean } | null;
  readonly retry: { readonly allowed: boolean; readonly limit: number; readonly remaining: number } | null;
};

type Members = Readonly<Record<string, unknown>>;

const toMembers = (value: unknown, what: string): Members => {
  if (typeof value === 'object' && value !== null) return { ...value };
  throw new TypeError(`${what} is not an object.`);
};

const isText = (value: unknown): value is string => typeof value === 'string';
const isFlag = (value: unknown): value is boolean => typeof value === 'boolean';
const isCount = (value: unknown): value is number => typeof value === 'number';

const read = <T>(members: Members, name: string, isRight: (value: unknown) => value is T): T => {
  const value = members[name];
  if (isRight(value)) return value;
  throw new TypeError(`A result has no right '${name}'.`);
};

const toError = (value: unknown): ToolResult['error'] => {
  if (value === null) return null;
  const members = toMembers(value, 'error');
  return { code: read(members, 'code', isText), fatal: read(members, 'fatal', isFlag) };
};

const toRetry = (value: unknown): ToolResult['retry'] => {
  if (value === null) return null;
  const members = toMembers(value, 'retry');
  return {
    allowed: read(members, 'allowed', isFlag),
    limit: read(members, 'limit', isCount),
    remaining: read(members, 'remaining', isCount),
  };
};

/** A result out of the service's answer. Throws a TypeError where it is none. */
export const toToolResult = (value: unknown): ToolResult => {
  const members = toMembers(value, 'A result');
  return {
    name: members['name'] === null ? null : read(members, 'name', isText),
    success: read(members, 'success', isFlag),
    outcome: read(members, 'outcome', isText),
    value: members['value'],
    message: read(members, 'message', isText),
    error: toError(members['error']),
    retry: toRetry(members['retry']),
  };
};
