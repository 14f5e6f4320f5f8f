type References = ReadonlyMap<string, readonly string[]>;

/**
 * The names that lead back to themselves: each with a number that is the same for all that lead to each other.
 * Takes time in proportion to the references (Kosaraju's algorithm), and no stack.
 */
export const findCircles = (references: References): ReadonlyMap<string, number> => {
  const referredBy = toReversed(references);
  const taken = new Set<string>();
  const circles = new Map<string, number>();
  // Backwards from the name that was left last nothing can be reached but its own circle.
  for (const [place, name] of toLeavingOrder(references).reverse().entries()) {
    const group = flood(name, referredBy, taken);
    if (group.length > 1 || references.get(name)?.includes(name) === true)
      for (const member of group) circles.set(member, place);
  }
  return circles;
};

const toReversed = (references: References): References => {
  const reversed = new Map<string, string[]>();
  for (const [name, targets] of references)
    for (const target of targets) {
      const sources = reversed.get(target) ?? [];
      sources.push(name);
      reversed.set(target, sources);
    }
  return reversed;
};

/** All names, each after those that it leads to, circles apart. */
const toLeavingOrder = (references: References): string[] => {
  const entered = new Set<string>();
  const order: string[] = [];
  const stack = [...references.keys()].map((name) => ({ name, step: 'enter' }));
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const { name, step } = next;
    if (step === 'leave') order.push(name);
    if (step === 'leave' || entered.has(name)) continue;
    entered.add(name);
    stack.push({ name, step: 'leave' });
    for (const target of references.get(name) ?? []) stack.push({ name: target, step: 'enter' });
  }
  return order;
};

/** What can be reached from a name and is not taken yet; it is from now on. */
const flood = (start: string, references: References, taken: Set<string>): readonly string[] => {
  const group: string[] = [];
  const stack = [start];
  for (let name = stack.pop(); name !== undefined; name = stack.pop()) {
    if (taken.has(name)) continue;
    taken.add(name);
    group.push(name);
    for (const target of references.get(name) ?? []) stack.push(target);
  }
  return group;
};
