import { render } from 'lit-html';
import { showExtension } from './extension-page.ts';
import { PageModel } from './page-model.ts';
import { pageTemplate } from './page-template.ts';
import { PAGES } from './pages.ts';

type Shown = Partial<Pick<PageModel, 'route' | 'view'> & Pick<PageModel['seen'], 'tools' | 'keyState'>>;

const start = (root: HTMLElement): void => {
  let shown: Shown = {};
  // A link to a part of the first page is followed from outside as well.
  let isFollowed = /^#overview=./.test(location.hash);
  const page = new PageModel(PAGES, () => {
    show(page, root, shown);
    shown = { route: page.route, view: page.view, ...page.seen };
    // A reader who followed a link by keyboard, or on a narrow screen, is taken to what it led to, once it is there.
    if (!isFollowed) return;
    const title = root.querySelector<HTMLElement>(titleOf(page));
    isFollowed = title === null;
    // Who narrows a list by keyboard goes on doing so.
    if (!isIn(document.activeElement, '.filters')) title?.focus();
  });
  addEventListener('hashchange', () => {
    isFollowed = true;
    page.go(location.hash);
  });
  addEventListener('keydown', (event) => {
    const { key, target } = event;
    const isOwn =
      event.ctrlKey || event.metaKey || event.altKey || isAnswering(target) || (isArrow(key) && !isInList(target));
    const done = isOwn ? null : page.view.pressKey?.(page, key);
    if (done) event.preventDefault();
    if (done !== 'moved') return;
    const chosen = root.querySelector<HTMLElement>('.names [aria-current]');
    (chosen ?? document.getElementById('approvals-title'))?.focus();
  });
  // What counts down, or says how long ago something was, does so between two readings as well.
  setInterval(() => {
    if (!document.hidden) page.update({});
  }, 1_000);
  document.addEventListener('visibilitychange', () => page.readPage());
  root.replaceChildren();
  page.load();
};

const TITLES = '#page-title, #tool-title, #session-title, #unknown-title, #approval-title, #extension-title';

const titleOf = ({ route }: PageModel): string =>
  route.page === 'overview' && route.section !== null ? `#overview-${CSS.escape(route.section)}` : TITLES;

const show = (page: PageModel, root: HTMLElement, shown: Shown): void => {
  const { route, key, question, seen } = page;
  // Closed, and not only taken away: it gives the focus back.
  if (question === null) root.querySelector('dialog')?.close();
  renderPage(page, root);
  root.querySelector<HTMLDialogElement>('dialog:not([open])')?.showModal();
  void showExtension(route.page === 'extension' ? route.name : null, key);
  if (route !== shown.route || page.view !== shown.view || seen.tools !== shown.tools)
    root.querySelector('.names [aria-current]')?.scrollIntoView({ block: 'nearest' });
  if (seen.keyState !== shown.keyState) focusKey();
};

const isIn = (target: EventTarget | null, selector: string): boolean =>
  target instanceof Element && target.closest(selector) !== null;

// There a letter is typed, and Escape leaves what stands above the page.
const isAnswering = (target: EventTarget | null): boolean => isIn(target, 'input, textarea, select, dialog');
// Elsewhere they move the page.
const isInList = (target: EventTarget | null): boolean => isIn(target, '.names');
const isArrow = (key: string): boolean => key.startsWith('Arrow');

// What goes leaves the focus to what stands in its place, and a button to the card or the part of the page that it stood in.
const renderPage = (page: PageModel, root: HTMLElement): void => {
  const { activeElement } = document;
  const card = activeElement?.closest('.card');
  const part = activeElement?.closest<HTMLElement>('[data-part]')?.dataset['part'];
  render(pageTemplate(page), root);
  if (document.activeElement !== document.body) return;
  const heading = card?.isConnected ? card.querySelector<HTMLElement>('h3, h4') : null;
  (document.getElementById(activeElement?.id ?? '') ?? heading ?? document.getElementById(part ?? ''))?.focus();
};

// A person who is at work elsewhere on the page stays there.
const focusKey = (): void => {
  if (document.activeElement === document.body) document.getElementById('api-key')?.focus();
};

const root = document.getElementById('app');
if (root !== null) start(root);
