import { setImmediate } from 'node:timers/promises';

/** What `map` gives for each item, one after the other, with room for all else that is to be done between them. */
export const mapInSteps = async <Item, Mapped>(
  items: readonly Item[],
  map: (item: Item) => Mapped,
): Promise<readonly Mapped[]> => {
  const mapped: Mapped[] = [];
  for (const item of items) {
    mapped.push(map(item));
    await setImmediate();
  }
  return mapped;
};
