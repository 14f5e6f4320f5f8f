const NO_KEYS: ReadonlySet<string> = new Set();

/**
 * Whether a JSON value holds more than `most` values, itself included, without what stands under `passedOver` keys. Never
 * recursive, and does not look at all of what is too large.
 */
export const hasMoreNodes = (value: unknown, most: number, passedOver: ReadonlySet<string> = NO_KEYS): boolean => {
  const stack: unknown[] = [value];
  let nodes = 0;
  while (stack.length > 0) {
    const node = stack.pop();
    nodes += 1;
    const members = membersOf(node, passedOver);
    if (nodes + stack.length + members.length > most) return true;
    for (const member of members) stack.push(member);
  }
  return nodes > most;
};

const membersOf = (node: unknown, passedOver: ReadonlySet<string>): readonly unknown[] => {
  if (typeof node !== 'object' || node === null) return [];
  if (Array.isArray(node)) return node;
  const entries = Object.entries(node);
  return passedOver.size === 0
    ? entries.map(([, member]) => member)
    : entries.flatMap(([key, member]) => (passedOver.has(key) ? [] : [member]));
};
