/** Whether a value of JSON is nested deeper than so many levels. Takes no stack, however deep it is. */
export const isNestedDeeper = (value: unknown, levels: number): boolean => {
  const open: (readonly [value: unknown, level: number])[] = [[value, 0]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [current, level] = next;
    if (typeof current !== 'object' || current === null) continue;
    if (level === levels) return true;
    for (const member of Object.values(current)) open.push([member, level + 1]);
  }
  return false;
};
