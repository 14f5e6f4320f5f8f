/** How large a value of JSON may be: its values, itself included, and the characters of its texts and names. */
export type MostOfValue = { readonly values: number; readonly characters: number };

/**
 * How many characters the texts and names of a value of JSON come to, or null where it is larger than `most`. Takes no
 * stack, and does not look at all of what is too large.
 */
export const sizeOf = (value: unknown, most: MostOfValue): number | null => {
  const open: unknown[] = [value];
  let values = 0;
  let characters = 0;
  while (open.length > 0) {
    const current = open.pop();
    values += 1;
    if (typeof current === 'string') characters += current.length;
    const members = membersOf(current, most.values - values - open.length);
    if (members === null) return null;
    for (const [name, member] of members) {
      characters += name.length;
      open.push(member);
    }
    if (characters > most.characters) return null;
  }
  return characters;
};

type Member = readonly [name: string, value: unknown];

const membersOf = (value: unknown, most: number): readonly Member[] | null => {
  if (typeof value !== 'object' || value === null) return most < 0 ? null : [];
  if (Array.isArray(value)) return value.length > most ? null : value.map((item): Member => ['', item]);
  const members = Object.entries(value);
  return members.length > most ? null : members;
};
