import { html, type TemplateResult } from 'lit-html';
import * as extension from './extension-page.ts';
import * as overview from './overview-page.ts';
import type { PageModel } from './page-model.ts';
import type { PageName } from './route.ts';

/**
 * A page of the console, as its module. What it keeps of the answers for one key lies in a `WeakMap` by `page.seen`: another key
 * begins with nothing.
 */
export type PageView = {
  readonly view: (page: PageModel) => TemplateResult;
  /** Begins what is read while the page is looked at, with `page.read`; `signal` ends it. */
  readonly read?: (page: PageModel, signal: AbortSignal) => void;
  /** Does what a key stands for on the page; null: it stands for nothing. */
  readonly pressKey?: (page: PageModel, key: string) => 'moved' | 'asked' | null;
};

/** The first page, and what is too small to be asked for on its own. */
export const FIRST_VIEWS: readonly (readonly [PageName, PageView])[] = [
  ['overview', overview],
  ['extension', extension],
];

/** The code of a page is loaded when it is first gone to. */
export const LATER_VIEWS: Readonly<Partial<Record<PageName, () => Promise<PageView>>>> = {
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
} satisfies Record<Exclude<PageName, 'overview' | 'extension'>, () => Promise<PageView>>;

/** In place of a page whose code did not come. */
export const NOT_LOADED: PageView = {
  view: () => html`<p class="trouble" role="alert">This page could not be loaded. Reload the console.</p>`,
};
