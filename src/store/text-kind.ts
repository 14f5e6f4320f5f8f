import type { FieldChanges, Fields, Kind } from './record-store.ts';
import type { StoreOperation } from './store-observer.ts';

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

/**
 * A kind without a list whose fields are few or small: all their texts are made and compared at each update. `own` matches the names
 * of its fields; `toTexts` gets the saved texts too, of which it may return those that it could not read.
 */
export const createTextKind = <State>({
  operation,
  own,
  toTexts,
  ...kind
}: Omit<Kind<State, Map<string, string>>, 'operations' | 'toSaved' | 'changes' | keyof typeof NO_LIST> & {
  readonly operation: StoreOperation;
  readonly own: RegExp;
  readonly toTexts: (state: State, saved: Fields) => Fields;
}): Kind<State, Map<string, string>> => ({
  ...kind,
  ...NO_LIST,
  operations: { short: operation, long: operation },
  toSaved: (_state, fields) => toOwnFields(fields, (name) => own.test(name)),
  changes: (state, saved) => toChanges(toTexts(state, saved), saved),
});
