/** Random numbers that a seed repeats. */
export type Random = {
  /** From 0 up to, and without, 1. */
  readonly fraction: () => number;
  /** A whole number, both ends included. */
  readonly whole: (least: number, most: number) => number;
  /** True in `share` of all cases, 0 to 1. */
  readonly chance: (share: number) => boolean;
  readonly pick: <Item>(items: readonly Item[]) => Item;
  /** One of the items, by their weights. */
  readonly weigh: <Item extends { readonly weight: number }>(items: readonly Item[]) => Item;
};

/** Mulberry32 (Tommy Ettinger, public domain): 32 bits of state are enough to choose a load. */
export const createRandom = (seed: number): Random => {
  let state = seed >>> 0;
  const fraction = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const whole = (least: number, most: number): number => least + Math.floor(fraction() * (most - least + 1));
  return {
    fraction,
    whole,
    chance: (share) => fraction() < share,
    pick: (items) => itemAt(items, whole(0, items.length - 1)),
    weigh: (items) => {
      let left = fraction() * items.reduce((sum, { weight }) => sum + weight, 0);
      const chosen = items.findIndex(({ weight }) => {
        left -= weight;
        return left < 0;
      });
      return itemAt(items, chosen === -1 ? items.length - 1 : chosen);
    },
  };
};

const itemAt = <Item>(items: readonly Item[], place: number): Item => {
  const item = items[place];
  if (item === undefined) throw new Error('There is nothing to choose from.');
  return item;
};
