import { render } from 'lit-html';
import { showExtension } from './extension-page.ts';
import { PageModel } from './page-model.ts';
import { pageTemplate } from './page-template.ts';

const start = (root: HTMLElement): void => {
  let shown: Partial<Pick<PageModel, 'route'> & Pick<PageModel['seen'], 'tools' | 'keyState'>> = {};
  const page = new PageModel(() => {
    const { route, key, question, seen } = page;
    // Closed, and not only taken away: it gives the focus back.
    if (question === null) root.querySelector('dialog')?.close();
    renderPage(page, root);
    root.querySelector<HTMLDialogElement>('dialog:not([open])')?.showModal();
    void showExtension(route.page === 'extension' ? route.name : null, key);
    if (route !== shown.route || seen.tools !== shown.tools)
      root.querySelector('.names [aria-current]')?.scrollIntoView({ block: 'nearest' });
    if (seen.keyState === 'refused' && shown.keyState === 'in use') focusKey();
    shown = { route, ...seen };
  });
  addEventListener('hashchange', () => {
    page.go(location.hash);
    // A reader who followed a link by keyboard, or on a narrow screen, is taken to what it led to.
    root.querySelector<HTMLElement>('#tool-title, #session-title, #unknown-title, #extension-title')?.focus();
  });
  document.addEventListener('visibilitychange', () => page.readPage());
  root.replaceChildren();
  page.load();
};

// A button that goes leaves the focus to the card that it stood in.
const renderPage = (page: PageModel, root: HTMLElement): void => {
  const card = document.activeElement?.closest('.card');
  render(pageTemplate(page), root);
  if (document.activeElement === document.body) card?.querySelector('h3')?.focus();
};

// A person who is at work elsewhere on the page stays there.
const focusKey = (): void => {
  if (document.activeElement === document.body) document.getElementById('api-key')?.focus();
};

const root = document.getElementById('app');
if (root !== null) start(root);
