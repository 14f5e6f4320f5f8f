import { types } from 'node:util';

/** What an `async function*` makes: its yields are parts, what it returns is the value. */
export type AnyAsyncGenerator = AsyncGenerator<unknown, unknown, undefined>;

/** Whether a handler returned one. Asked of the engine, so that no code of the tool runs. */
export const isAsyncGenerator = (value: unknown): value is AnyAsyncGenerator =>
  types.isGeneratorObject(value) && Symbol.asyncIterator in value;
