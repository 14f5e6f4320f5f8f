import { toCallPrint } from './call-print.ts';
import { toCanonicalText, toDigest, toMark } from './canonical-text.ts';
import { createWideLiterals } from './json-shape.ts';
import { LazyMark } from './lazy-mark.ts';
import { type ParsedArguments, parseArguments } from './parse-arguments.ts';
import type { ReadyCall } from './resolve-call.ts';
import type { CallMark } from './session-store.ts';

/** The arguments of a batch's calls, each read once however often it is asked for. */
export type BatchArguments = {
  readonly read: (call: ReadyCall) => ParsedArguments;
  /** RFC 8785 text of the arguments; the raw text where they do not parse. */
  readonly textOf: (call: ReadyCall) => string;
  /** SHA-256 of tool and arguments, 64 hex digits: the journal's name for a call. */
  readonly fingerprintOf: (call: ReadyCall) => string;
  /** The loop guard's name for a call. */
  readonly markOf: (call: ReadyCall) => CallMark;
};

/** `source` is the body's text, which alone tells how a number was written. */
export const createBatchArguments = (source: string): BatchArguments => {
  const bodyLiterals = createWideLiterals(source);
  const parsed: ParsedArguments[] = [];
  const texts: string[] = [];
  const fingerprints: string[] = [];
  const marks: CallMark[] = [];
  const read = (call: ReadyCall): ParsedArguments => {
    const { index } = call;
    parsed[index] ??= parseArguments(call.given, bodyLiterals, call.tool);
    return parsed[index];
  };
  const textOf = (call: ReadyCall): string => {
    const { index } = call;
    texts[index] ??= toText(call, read(call));
    return texts[index];
  };
  const fingerprintOf = (call: ReadyCall): string => {
    const { index } = call;
    fingerprints[index] ??= toDigest(`${call.tool.name}\n${textOf(call)}`);
    return fingerprints[index];
  };
  const markOf = (call: ReadyCall): CallMark => {
    const { index } = call;
    marks[index] ??= new LazyMark(
      () =>
        toCallPrint(
          call.tool.name,
          toPrinted(read(call), () => textOf(call)),
        ),
      () => toMark(fingerprintOf(call)),
    );
    return marks[index];
  };
  return { read, textOf, fingerprintOf, markOf };
};

// Arguments that cannot be read are named by their text.
const toPrinted = (parsed: ParsedArguments, text: () => string): unknown => (parsed.ok ? parsed.value : text());

const toText = ({ given }: ReadyCall, parsed: ParsedArguments): string => {
  if (parsed.ok) return toCanonicalText(parsed.value);
  return typeof given === 'string' ? given : toCanonicalText(given);
};
