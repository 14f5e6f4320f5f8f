import { cutRedacted } from '../../redaction/cut-redacted.ts';
import type { ThrownPart } from '../host-messages.ts';

const MAX_CAUSES = 8;
const MAX_TEXT = 4000;

/** An exception and its causes as plain parts, for the log of the service. Total: it answers for anything thrown. */
export const toThrownParts = (thrown: unknown): readonly ThrownPart[] => {
  const parts: ThrownPart[] = [];
  const seen = new Set<unknown>();
  for (let link = thrown; link !== undefined && link !== null && !seen.has(link); link = read(link, 'cause')) {
    if (parts.length === MAX_CAUSES) break;
    seen.add(link);
    parts.push(toPart(link));
  }
  return parts;
};

const toPart = (thrown: unknown): ThrownPart => {
  const name = read(thrown, 'name');
  const message = read(thrown, 'message');
  const stack = read(thrown, 'stack');
  return {
    name: typeof name === 'string' ? cutRedacted(name, 80) : typeof thrown,
    message: cutRedacted(typeof message === 'string' ? message : toText(thrown), MAX_TEXT),
    stack: typeof stack === 'string' ? cutRedacted(stack, MAX_TEXT) : '',
  };
};

const read = (from: unknown, key: string): unknown => {
  if ((typeof from !== 'object' && typeof from !== 'function') || from === null) return undefined;
  try {
    return Reflect.get(from, key);
  } catch (_hostile) {
    return undefined;
  }
};

const toText = (thrown: unknown): string => {
  try {
    return typeof thrown === 'object' ? (JSON.stringify(thrown) ?? '') : String(thrown);
  } catch (_hostile) {
    return '';
  }
};
