import { toCanonicalText, toDigest } from './canonical-text.ts';
import { type ParsedArguments, parseArguments } from './parse-arguments.ts';
import type { ReadyCall } from './resolve-call.ts';

/** The arguments of a batch's calls, each read once however often it is asked for. */
export type BatchArguments = {
  readonly read: (call: ReadyCall) => ParsedArguments;
  /** RFC 8785 text of the arguments; the raw text where they do not parse. */
  readonly textOf: (call: ReadyCall) => string;
  /** SHA-256 of tool and arguments, 64 hex digits: the loop guard's and the journal's name for a call. */
  readonly fingerprintOf: (call: ReadyCall) => string;
};

/** `source` is the body's text, which alone tells how a number was written. */
export const createBatchArguments = (source: string): BatchArguments => {
  const parsed = new Map<number, ParsedArguments>();
  const texts = new Map<number, string>();
  const fingerprints = new Map<number, string>();
  const read = (call: ReadyCall): ParsedArguments =>
    remember(parsed, call.index, () => parseArguments(call.given, source, call.tool));
  const textOf = (call: ReadyCall): string => remember(texts, call.index, () => toText(call, read(call)));
  const fingerprintOf = (call: ReadyCall): string =>
    remember(fingerprints, call.index, () => toDigest(`${call.tool.name}\n${textOf(call)}`));
  return { read, textOf, fingerprintOf };
};

const remember = <Value>(known: Map<number, Value>, index: number, make: () => Value): Value => {
  const found = known.get(index);
  if (found !== undefined) return found;
  const made = make();
  known.set(index, made);
  return made;
};

const toText = ({ given }: ReadyCall, parsed: ParsedArguments): string => {
  if (parsed.ok) return toCanonicalText(parsed.value);
  return typeof given === 'string' ? given : toCanonicalText(given);
};
