import type { ReadyCall } from './call.ts';
import { toCallPrint } from './call-print.ts';
import { toCanonicalText, toDigest } from './canonical-text.ts';
import { LazyMark } from './lazy-mark.ts';
import { type ParsedArguments, parseArguments } from './parse-arguments.ts';
import type { CallMark } from './session-store.ts';

/** The arguments of a call, read once however often they are asked for. */
export const readArguments = (call: ReadyCall): ParsedArguments => {
  call.parsedArguments ??= parseArguments(call.rawArguments, call.batch.wideLiterals, call.tool);
  return call.parsedArguments;
};

/** RFC 8785 text of the arguments; the raw text where they do not parse. */
export const toArgumentsJson = (call: ReadyCall): string => {
  call.argumentsText ??= toText(call);
  return call.argumentsText;
};

/** SHA-256 of tool and arguments, 64 hex digits: the journal's name for a call. */
export const fingerprintOf = (call: ReadyCall): string => {
  call.fingerprint ??= toDigest(`${call.tool.name}\n${toArgumentsJson(call)}`);
  return call.fingerprint;
};

/** The loop guard's name for a call. Arguments that cannot be read are named by their text. */
export const markOf = (call: ReadyCall): CallMark => {
  call.mark ??= new LazyMark(() => toCallPrint(call.tool.name, toPrinted(call)));
  return call.mark;
};

const toPrinted = (call: ReadyCall): unknown => {
  const parsed = readArguments(call);
  return parsed.ok ? parsed.value : toArgumentsJson(call);
};

const toText = (call: ReadyCall): string => {
  const parsed = readArguments(call);
  if (parsed.ok) return toCanonicalText(parsed.value);
  return typeof call.rawArguments === 'string' ? call.rawArguments : toCanonicalText(call.rawArguments);
};
