/** A part of a text: from its first character to the one behind its last. */
export type Place = { readonly from: number; readonly to: number };

// Long enough to stand in hardly any text by chance, so that most texts are looked through by the engine alone.
const BEGINNING = 16;

/**
 * Finds all places of one text in others; what overlaps or touches is one place. Takes time that grows with the length
 * of the text alone, whatever both hold (Knuth, Morris and Pratt 1977), which `indexOf` does not promise.
 */
export const createTextFinder = (wanted: string): ((text: string) => readonly Place[]) => {
  const codes = Uint16Array.from(wanted, (_sign, at) => wanted.charCodeAt(at));
  // For each beginning of what is wanted: the longest shorter one that it ends with.
  const shorter = new Uint32Array(codes.length + 1);
  const advance = (matched: number, code: number): number => {
    let length = matched;
    while (length > 0 && codes[length] !== code) length = shorter[length] ?? 0;
    return codes[length] === code ? length + 1 : 0;
  };
  for (let at = 1; at < codes.length; at += 1) shorter[at + 1] = advance(shorter[at] ?? 0, codes[at] ?? 0);
  return (text) => {
    const places: { from: number; to: number }[] = [];
    const first = text.indexOf(wanted.slice(0, BEGINNING));
    let matched = 0;
    for (let at = first === -1 ? text.length : first; at < text.length; at += 1) {
      matched = advance(matched, text.charCodeAt(at));
      if (matched === codes.length) addPlace(places, { from: at + 1 - matched, to: at + 1 });
    }
    return places;
  };
};

const addPlace = (places: { from: number; to: number }[], { from, to }: Place): void => {
  const last = places.at(-1);
  if (last !== undefined && from <= last.to) last.to = Math.max(last.to, to);
  else places.push({ from, to });
};

/** All places of several finders, in their order, those that overlap as one. */
export const mergePlaces = (places: readonly Place[]): readonly Place[] => {
  const merged: { from: number; to: number }[] = [];
  for (const place of places.toSorted((one, other) => one.from - other.from)) addPlace(merged, place);
  return merged;
};
