import { html, nothing, type TemplateResult } from 'lit-html';
import { callService } from './api.ts';
import type { PageModel } from './page-model.ts';
import { EXTENSION_PAGES } from './service-facts.ts';

type Page = { readonly show: (root: HTMLElement, ask: (path: string) => Promise<unknown>) => unknown };

/** The links to the pages that extensions add. */
export const extensionLinks = (current: string | null): readonly TemplateResult[] =>
  EXTENSION_PAGES.map(
    ({ name, title }) =>
      html`<a href="#${new URLSearchParams({ page: name })}" aria-current=${name === current ? 'page' : nothing}>${title}</a>`,
  );

/** The page of an extension, which its own module fills. */
export const view = ({ route }: PageModel): TemplateResult => {
  const name = route.page === 'extension' ? route.name : '';
  const title = EXTENSION_PAGES.find((page) => page.name === name)?.title;
  return html`<section aria-labelledby="extension-title">
    <h2 id="extension-title" tabindex="-1">${title ?? 'No such page'}</h2>
    <div id="extension"></div>
  </section>`;
};

let shown: { name: string | null; key: string; root: Element | null; leave: () => void } | null = null;

/** Lets the module of the page that is shown fill it, once for each key of the reader; the one before it ends. */
export const showExtension = async (name: string | null, key: string): Promise<void> => {
  const root = document.querySelector('#extension');
  if (shown?.name === name && shown.key === key && shown.root === root) return;
  shown?.leave();
  const own = { name, key, root, leave: (): void => undefined };
  shown = own;
  if (root === null || !EXTENSION_PAGES.some((page) => page.name === name)) return;
  // A place of its own: what comes late of another page, or for another key, goes nowhere.
  const place = document.createElement('div');
  root.replaceChildren(place);
  try {
    const { show }: Page = await import(new URL(`console/page-${name}.js`, document.baseURI).href);
    const leave = await show(place, (path) => ask(path, key));
    if (typeof leave !== 'function') return;
    own.leave = () => void leave();
    // The reader may have gone on meanwhile.
    if (shown !== own) own.leave();
  } catch (error) {
    place.replaceChildren(`This page failed: ${error instanceof Error ? error.message : String(error)}`);
  }
};

const ask = async (path: string, key: string): Promise<unknown> => {
  const answer = await callService({ path: path.replace(/^\//, '') }, key);
  if (answer.trouble === null) return answer.body;
  throw new Error(answer.trouble.detail || 'The service cannot be reached.');
};
