const MAX_CAUSES = 8;
const MAX_FRAMES = 10;
// The log takes secrets out and shows 2 000 characters: a secret that this cut goes through is out of sight.
const MAX_TEXT = 8000;

/** One link of an exception's cause chain, as the log shows it. */
export type DescribedError = { readonly type: string; readonly message: string; readonly stack: readonly string[] };

/**
 * An exception and its causes, at most 8 of 10 frames each. Total: it answers for anything that was thrown. The log redacts it.
 * V8 renders a stack when it is first read, which costs more than all the rest.
 */
export const describeCauses = (
  thrown: unknown,
  stacks: 'with stacks' | 'without stacks' = 'with stacks',
): readonly DescribedError[] => {
  const chain: DescribedError[] = [];
  const seen = new Set<unknown>();
  for (let link = thrown; link !== undefined && link !== null && !seen.has(link); link = read(link, 'cause')) {
    if (chain.length === MAX_CAUSES) break;
    seen.add(link);
    chain.push(describe(link, stacks));
  }
  return chain;
};

const describe = (thrown: unknown, stacks: 'with stacks' | 'without stacks'): DescribedError => {
  const message = read(thrown, 'message');
  const name = read(thrown, 'name');
  const stack = stacks === 'with stacks' ? read(thrown, 'stack') : undefined;
  const frames =
    typeof stack === 'string' ? stack.split('\n', MAX_FRAMES + 30).filter((line) => /^\s+at /.test(line)) : [];
  return {
    type: typeof name === 'string' ? name.slice(0, MAX_TEXT) : typeof thrown,
    message: (typeof message === 'string' ? message : toText(thrown)).slice(0, MAX_TEXT),
    stack: frames.slice(0, MAX_FRAMES).map((line) => line.trim().slice(0, MAX_TEXT)),
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
