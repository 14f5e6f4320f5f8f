import type { Tool } from '../../tools/tool.ts';

type Arguments = Readonly<Record<string, unknown>>;

// Enough for an origin; what a model writes may have any length.
const MAX_KEY_LENGTH = 200;

/**
 * The upstream that a call with these arguments talks to, at most 200 characters; null = the tool as a whole, also
 * where the tool's own function throws or gives no text.
 */
export const circuitKeyOf = (tool: Tool, input: Arguments): string | null => {
  const key = tool.runsIn === 'service' ? askTool(tool.breakerKeyOf, input) : readArgument(tool.breakerKey, input);
  return typeof key === 'string' && key !== '' ? key.slice(0, MAX_KEY_LENGTH) : null;
};

const readArgument = (name: string | null, input: Arguments): unknown =>
  name !== null && Object.hasOwn(input, name) ? input[name] : null;

const askTool = (breakerKeyOf: ((input: Arguments) => unknown) | null, input: Arguments): unknown => {
  if (breakerKeyOf === null) return null;
  try {
    const key = breakerKeyOf(input);
    // Nobody waits for it, so its rejection would be nobody's.
    if (key instanceof Promise) key.catch(() => undefined);
    return key;
  } catch (_foreign) {
    return null;
  }
};
