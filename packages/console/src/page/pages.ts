import * as approvals from './approvals-template.ts';
import * as call from './call-template.ts';
import * as calls from './calls-template.ts';
import * as extension from './extension-page.ts';
import * as overview from './overview-page.ts';
import type { PageModel } from './page-model.ts';
import type { Pages } from './page-view.ts';
import * as pending from './pending-template.ts';
import * as reports from './reports-template.ts';
import * as search from './search-template.ts';
import * as session from './session-template.ts';
import * as sessions from './sessions-template.ts';
import * as tools from './tools-template.ts';
import * as unknown from './unknown-template.ts';

export const PAGES: Pages<PageModel> = {
  ...{ overview, tools, reports, sessions, session, calls },
  ...{ call, pending, search, unknown, approvals, extension },
};
