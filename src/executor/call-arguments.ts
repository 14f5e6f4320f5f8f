import { toCanonicalText, toDigest } from '../json/canonical-text.ts';
import type { ReadyCall } from './call.ts';
import { type ParsedArguments, parseArguments } from './parse-arguments.ts';

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

const toText = (call: ReadyCall): string => {
  const parsed = readArguments(call);
  if (parsed.ok) return toCanonicalText(parsed.value);
  return typeof call.rawArguments === 'string' ? call.rawArguments : toCanonicalText(call.rawArguments);
};
