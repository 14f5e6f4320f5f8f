import { ToolCallsResponse } from '#src/contract/tool-result.ts';
import type { CallKind } from './bodies.ts';
import { postBatch } from './servers.ts';

// Bodies differ by the digits of a duration.
const MAX_SIZE_DIFFERENCE = 0.03;

const FAILURES: ReadonlyMap<CallKind, string> = new Map([
  ['failing', 'invalid_arguments'],
  ['missing', 'tool_exception'],
  ['unknown', 'unknown_tool'],
  ['unknown_new', 'unknown_tool'],
]);

type Answer = { readonly bytes: number; readonly members: string };

/** Posts one batch; throws unless every call came to what its kind says, without a warning. Gives the size and the shape of the answer. */
export const checkAnswer = async (url: string, kind: CallKind, calls: number): Promise<Answer> => {
  const text = await postBatch(url, kind, calls);
  const { results } = ToolCallsResponse.parse(JSON.parse(text));
  const expected = FAILURES.get(kind) ?? 'ok';
  const codes = results.map(({ error }) => error?.code ?? 'ok');
  if (results.length !== calls || codes.some((code) => code !== expected))
    throw new Error(`${url} should answer ${calls} times ${expected}, but its codes are: ${codes.join(', ')}.`);
  const warnings = results.flatMap((result) => result.warnings ?? []).map(({ code }) => code);
  if (warnings.length > 0) throw new Error(`${url} should warn of nothing, but does of: ${warnings.join(', ')}.`);
  return { bytes: Buffer.byteLength(text), members: toMembers(results[0]) };
};

const toMembers = (result: object | undefined): string => Object.keys(result ?? {}).join(', ');

/** Throws unless two servers give answers of the same members and nearly the same size. */
export const checkLikeness = (one: Answer, other: Answer): void => {
  if (one.members !== other.members)
    throw new Error(`The bare route answers ${one.members}; the service answers ${other.members}.`);
  if (Math.abs(one.bytes / other.bytes - 1) > MAX_SIZE_DIFFERENCE)
    throw new Error(`The bare route answers ${one.bytes} bytes; the service answers ${other.bytes}.`);
};
