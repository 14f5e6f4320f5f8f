import type { PageModel } from './page-model.ts';

/** What a page keeps while it is looked at with one key: begins anew with another address or key. */
export const perVisit = <State>(make: () => State): ((page: Pick<PageModel, 'route' | 'seen'>) => State) => {
  let visit: { readonly route: unknown; readonly seen: unknown; readonly state: State } | null = null;
  return ({ route, seen }) => {
    if (visit?.route !== route || visit.seen !== seen) visit = { route, seen, state: make() };
    return visit.state;
  };
};
