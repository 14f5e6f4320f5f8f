import { isRecord, type JsonRecord, listAt, memberOf, recordAt } from '../document/json-record.ts';
import { followReferences } from '../document/references.ts';
import type { ParameterRule } from './openapi-import-settings.ts';
import type { Place } from './parameters.ts';

/** What the settings say of one parameter, or member of a body: always this value, or never anything. */
export type SetParameter = { readonly kind: 'value'; readonly value: unknown } | { readonly kind: 'hidden' };

/** What the settings say of the parameters of one operation; the model is told of none of them. */
export type SetParameters = {
  readonly find: (name: string, place: Place | 'body') => SetParameter | null;
  /** Of a body that is one argument: what is always sent of it, and its schema without those members and the hidden ones. */
  readonly splitBody: (root: JsonRecord, source: unknown) => SplitBody;
};

type SplitBody = { readonly fixed: ReadonlyMap<string, unknown>; readonly left: unknown };

/** The first rule that names a parameter and its place counts. `rules`: those that fit the operation. */
export const createSetParameters = (rules: readonly ParameterRule[]): SetParameters => {
  const find: SetParameters['find'] = (name, place) => {
    const rule = rules.find((one) => isNamed(one, name, place) && (one.in ?? place) === place);
    if (rule === undefined) return null;
    return rule.hidden === true ? { kind: 'hidden' } : { kind: 'value', value: rule.value };
  };
  return {
    find,
    splitBody: (root, source) => {
      if (rules.length === 0 || !isRecord(source)) return { fixed: new Map(), left: source };
      const schema = followReferences(root, source);
      const members = recordAt(schema, 'properties');
      const set = Object.keys(members).filter((name) => find(name, 'body') !== null);
      if (set.length === 0) return { fixed: new Map(), left: source };
      const fixed = set.flatMap((name) => {
        const rule = find(name, 'body');
        return rule?.kind === 'value' ? [[name, rule.value] as const] : [];
      });
      const properties = Object.fromEntries(
        Object.keys(members)
          .filter((name) => !set.includes(name))
          .map((name) => [name, memberOf(members, name)]),
      );
      const required = listAt(schema, 'required').filter((name) => !set.some((one) => one === name));
      return { fixed: new Map(fixed), left: { ...schema, properties, required } };
    },
  };
};

const isNamed = ({ name }: ParameterRule, given: string, place: Place | 'body'): boolean =>
  place === 'header' ? name.toLowerCase() === given.toLowerCase() : name === given;
