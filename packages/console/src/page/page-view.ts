import type { TemplateResult } from 'lit-html';
import type { PageName } from './route.ts';

/**
 * A page of the console, as its module. What it keeps of the answers for one key lies in a `WeakMap` by `page.seen`: another key
 * begins with nothing.
 */
export type PageView<Model> = {
  readonly view: (page: Model) => TemplateResult;
  /** Begins what is read while the page is looked at, with `page.read`; `signal` ends it. */
  readonly read?: (page: Model, signal: AbortSignal) => void;
  /** Goes to a part of the page that is looked at; false: all of it is read anew. */
  readonly follow?: (page: Model) => boolean;
  /** Does what a key stands for on the page; null: it stands for nothing. */
  readonly pressKey?: (page: Model, key: string) => 'moved' | 'asked' | null;
};

export type Pages<Model> = Readonly<Record<PageName, PageView<Model>>>;
