import type { FieldChanges, Fields } from '../store/record-store.ts';

/** Of a kind whose records have no list. */
export const NO_LIST = { takeAdded: () => [], toKeep: () => 0 } as const;

/** Those fields of a record that its kind knows. */
export const toOwnFields = (fields: Fields, isOwn: (name: string) => boolean): Map<string, string> =>
  new Map([...fields].filter(([name]) => isOwn(name)));

/** What differs from the saved texts, which are brought up to date. A field that is not among `texts` any more goes. */
export const toChanges = (texts: Fields, saved: Map<string, string>): FieldChanges => {
  const set: string[] = [];
  const gone = [...saved.keys()].filter((name) => !texts.has(name));
  for (const name of gone) saved.delete(name);
  for (const [name, text] of texts) {
    if (saved.get(name) === text) continue;
    saved.set(name, text);
    set.push(name, text);
  }
  return { set, gone };
};
