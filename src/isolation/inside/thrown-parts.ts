import { withLookahead } from '../../tools/describe-value.ts';
import { withoutVersions } from '../../tools/directory/tool-imports.ts';
import type { ThrownPart } from '../host-messages.ts';

const MAX_CAUSES = 8;
// Of a message; the service takes secrets out and shows 2 000 characters.
const MAX_MESSAGE = 2000;
const MAX_NAME = 80;
const MAX_STACK = 8000;

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
    name: typeof name === 'string' ? withLookahead(name, MAX_NAME) : typeof thrown,
    message: withLookahead(typeof message === 'string' ? message : toText(thrown), MAX_MESSAGE),
    stack: typeof stack === 'string' ? toWholeLines(withoutVersions(stack)) : '',
  };
};

// A line that is cut could hold half a secret.
const toWholeLines = (stack: string): string =>
  stack.length <= MAX_STACK ? stack : stack.slice(0, Math.max(0, stack.lastIndexOf('\n', MAX_STACK)));

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
