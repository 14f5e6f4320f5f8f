import * as extension from './extension-page.ts';
import * as overview from './overview-page.ts';
import type { PageModel } from './page-model.ts';
import type { Pages } from './page-view.ts';

/** What is looked at first is here from the beginning. */
export const PAGES: Pages<PageModel> = {
  overview,
  // Too small to be asked for on its own.
  extension,
  tools: () => import('./tools-template.ts'),
  reports: () => import('./reports-template.ts'),
  sessions: () => import('./sessions-template.ts'),
  session: () => import('./session-template.ts'),
  calls: () => import('./calls-template.ts'),
  call: () => import('./call-template.ts'),
  pending: () => import('./pending-template.ts'),
  search: () => import('./search-template.ts'),
  unknown: () => import('./unknown-template.ts'),
  approvals: () => import('./approvals-template.ts'),
};
