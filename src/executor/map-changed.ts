/** The same list where `change` gives back each of its items: it is copied from the first one that differs on. */
export const mapChanged = <Item>(items: readonly Item[], change: (item: Item) => Item): readonly Item[] => {
  let changed: Item[] | null = null;
  let place = 0;
  for (const item of items) {
    const instead = change(item);
    if (changed === null && instead !== item) changed = items.slice(0, place);
    changed?.push(instead);
    place += 1;
  }
  return changed ?? items;
};
