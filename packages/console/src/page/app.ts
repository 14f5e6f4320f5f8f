import { render } from 'lit-html';
import { type Actions, createAsk, createSessionActions, createToolActions } from './actions.ts';
import { isSendableKey } from './call-service.ts';
import { showExtension } from './extension-page.ts';
import { pageTemplate } from './page-template.ts';
import { createStore, type State, toRoute } from './state.ts';

const KEY_ITEM = 'recourse.api-key';

const toInitialState = (): State => ({
  ...NOTHING_SEEN,
  route: toRoute(location.hash),
  key: sessionStorage.getItem(KEY_ITEM) ?? '',
  keyTurn: 0,
  query: '',
  options: { sessionId: '', idempotencyKey: '', timeoutMs: '' },
  polling: 'live',
  question: null,
  opened: new Set(),
});

const start = (root: HTMLElement): void => {
  const show = (state: State): void => {
    render(pageTemplate({ state, act }), root);
    const { route, key } = state;
    void showExtension(route.page === 'extension' ? route.name : null, key);
    const dialog = root.querySelector('dialog');
    if (dialog?.open === false) dialog.showModal();
  };
  const store = createStore(toInitialState(), show);
  const { read, update } = store;
  const ask = createAsk(store, focusKey);
  const tools = createToolActions(store, ask);
  const session = createSessionActions(store, ask);
  const loadTools = (): void => void tools.loadTools().then(() => showChosen(root));
  const act: Actions = {
    ...tools,
    ...session,
    setKey: (key) => {
      if (!isSendableKey(key))
        return update({ keyMistake: 'A key has only printable ASCII characters and no spaces.' });
      if (key === '') sessionStorage.removeItem(KEY_ITEM);
      else sessionStorage.setItem(KEY_ITEM, key);
      // What the former key was shown is not for this one.
      update({ ...NOTHING_SEEN, key, keyTurn: read().keyTurn + 1 });
      loadTools();
      session.follow();
    },
    toggle: (identity) => {
      const opened = new Set(read().opened);
      if (!opened.delete(identity)) opened.add(identity);
      update({ opened });
    },
    answerQuestion: (answer) => {
      const { question } = read();
      root.querySelector('dialog')?.close();
      update({ question: null });
      if (answer === 'yes') question?.act();
    },
  };
  addEventListener('hashchange', () => {
    update({ route: toRoute(location.hash), session: null, sessionTrouble: null, readAt: '', question: null });
    session.follow();
    showChosen(root);
    // A reader who followed a link by keyboard, or on a narrow screen, is taken to what it led to.
    root.querySelector<HTMLElement>('#tool-title, #session-title, #extension-title')?.focus();
  });
  document.addEventListener('visibilitychange', session.follow);
  root.replaceChildren();
  show(read());
  loadTools();
  session.follow();
};

/** Scrolls the list to the chosen tool; the page stays where it is. */
const showChosen = (root: HTMLElement): void => {
  const chosen = root.querySelector('.names [aria-current]')?.getBoundingClientRect();
  const list = root.querySelector('.names');
  const box = list?.getBoundingClientRect();
  if (!chosen || !list || !box || (chosen.top >= box.top && chosen.bottom <= box.bottom)) return;
  list.scrollTop += chosen.top - box.top - box.height / 2;
};

// Whoever is at work elsewhere on the page stays there.
const focusKey = (): void => {
  if (document.activeElement === document.body) document.getElementById('api-key')?.focus();
};

const NOTHING_SEEN = {
  keyState: 'in use',
  keyMistake: '',
  tools: null,
  toolsTrouble: null,
  drafts: new Map(),
  session: null,
  sessionTrouble: null,
  readAt: '',
  announcement: '',
} as const;

const root = document.getElementById('app');
if (root !== null) start(root);
