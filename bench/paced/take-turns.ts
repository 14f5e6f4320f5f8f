/** Something that has its turn as often as its weight says. */
export type Weighted<Item> = { readonly item: Item; readonly weight: number };

/** Gives the items in turn, each spread evenly between the others. */
export const createTurns = <Item>(all: readonly Weighted<Item>[]): (() => Item) => {
  const places = all.map(({ item, weight }) => ({ item, weight, claim: 0 }));
  const total = all.reduce((sum, { weight }) => sum + weight, 0);
  return () => {
    for (const place of places) place.claim += place.weight;
    const next = places.reduce((most, place) => (place.claim > most.claim ? place : most));
    next.claim -= total;
    return next.item;
  };
};
