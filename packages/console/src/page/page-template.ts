import { html, nothing, type TemplateResult } from 'lit-html';
import { extensionLinks } from './extension-page.ts';
import type { PageModel } from './page-model.ts';
import { fieldBox, onEnter, some } from './page-parts.ts';
import { type PageName, routeLink } from './route.ts';
import type { Question } from './seen.ts';
import { toVisible } from './visible-text.ts';

/** The whole page. */
export const pageTemplate = (page: PageModel): TemplateResult => {
  const { seen } = page;
  const locked = isLocked(page);
  return html`<header class="row">
      <h1>Recourse <span class="muted">console</span></h1>
      ${locked ? nothing : navigationTemplate(page)}
      <div class="row last">${keyTemplate(page)} ${page.hasDocs ? html`<a href="docs">API</a>` : nothing}</div>
    </header>
    <main>${keyForm(page)} ${locked ? nothing : page.view.view(page)}</main>
    <div class="unseen" role="status" aria-live="polite">${seen.announcement}</div>
    ${questionTemplate(page)}`;
};

const navigationTemplate = (page: PageModel): TemplateResult => {
  const { route } = page;
  return html`<nav class="row" aria-label="Pages">
      ${NAVIGATION.map((entry) => linkTemplate(page, entry))}
      ${extensionLinks(route.page === 'extension' ? route.name : null)}
    </nav>
    <form class="find" role="search" autocomplete="off" @submit=${onEnter('find', find)}>
      <input id="find" type="search" spellcheck="false" aria-label="Find" placeholder="Find an id, a hash, a tool" />
    </form>`;
};

const NAVIGATION: readonly (readonly [link: string, label: string, pages: readonly PageName[]])[] = [
  ['#', 'Overview', ['overview']],
  ['#sessions=failing', 'Sessions', ['sessions', 'session']],
  ['#calls=', 'Calls', ['calls', 'call']],
  ['#pending=', 'Pending', ['pending']],
  ['#tools', 'Tools', ['tools', 'reports']],
  ['#unknown=', 'Unknown outcomes', ['unknown']],
  ['#approvals=', 'Approvals', ['approvals']],
];

const linkTemplate = ({ route, seen }: PageModel, [link, label, pages]: (typeof NAVIGATION)[number]) => {
  const counts: Partial<Record<PageName, number | null>> = { unknown: seen.unknownCount, approvals: seen.waitingCount };
  const [of] = pages;
  return html`<a href=${link} aria-current=${pages.includes(route.page) ? 'page' : nothing}>
    ${label}${some((of && counts[of]) || null, (count) => ` (${count})`)}
  </a>`;
};

const find = (text: string): void => {
  if (text.trim() !== '') location.hash = routeLink({ search: text.trim() });
};

const questionTemplate = (page: PageModel): unknown =>
  some(
    page.question,
    (question) => html`<dialog class="card" aria-labelledby="question-title" aria-describedby="question-text"
      @cancel=${() => page.answerQuestion('no')} @close=${(event: Event) => isClosed(event) && page.answerQuestion('no')}>
      <h2 id="question-title">${question.title}</h2>
      <p id="question-text">${question.text}</p>
      <form autocomplete="off" @submit=${(event: SubmitEvent) => page.answerQuestion('yes', typedInto(event))}
        @input=${question.preview && ((event: Event) => page.update({ question: { ...question, typed: typedInto(event), mistake: '' } }))}>
        ${question.fields?.map(questionField)}
        ${some(question.mistake, (mistake) => html`<p class="mistake" role="alert">${toVisible(mistake)}</p>`)}
        ${question.preview?.(question.typed ?? {})}
        <div class="row">
          <button type="button" class="last" ?autofocus=${question.fields === undefined && !question.isForKeys}
            @click=${() => page.answerQuestion('no')}>Cancel</button>
          <button class="primary" ?autofocus=${question.isForKeys}>${question.label}</button>
        </div>
      </form>
    </dialog>`,
  );

// That it was closed is told a little later: by then another question may stand in its place.
const isClosed = ({ target }: Event): boolean =>
  target instanceof HTMLDialogElement && target.isConnected && !target.open;

const questionField = (field: NonNullable<Question['fields']>[number], index: number): TemplateResult => {
  const { name, label, about, value = '', isLine } = field;
  const id = `question-${name}`;
  const control = isLine
    ? html`<input id=${id} name=${name} ?autofocus=${index === 0} .value=${value} aria-describedby=${`${id}-about`} />`
    : html`<textarea id=${id} name=${name} rows="2" spellcheck="false" ?autofocus=${index === 0} .value=${value}
        aria-describedby=${`${id}-about`}></textarea>`;
  return fieldBox(id, label, control, about);
};

/** What stands in the fields of a form that is sent, by name. */
const typedInto = (event: Event): Readonly<Record<string, string>> => {
  event.preventDefault();
  const { currentTarget: form } = event;
  const entries = form instanceof HTMLFormElement ? [...new FormData(form)] : [];
  return Object.fromEntries(entries.map(([name, typed]) => [name, String(typed)]));
};

/** Whether the service wants a key before it shows anything. */
const isLocked = ({ seen }: PageModel): boolean =>
  !seen.isAnswered && (seen.keyState === 'missing' || seen.keyState === 'refused');

const keyTemplate = (page: PageModel): unknown =>
  page.key === ''
    ? nothing
    : html`${page.seen.keyState === 'refused' ? nothing : html`<span class="muted">API key in use, in this tab only</span>`}
        <button type="button" class="quiet" @click=${() => page.setKey('')}>Forget key</button>`;

/** Asks for an API key: where there is none, or the service refuses the one in use. */
const keyForm = (page: PageModel): unknown => {
  const { keyMistake, seen } = page;
  if (seen.keyState !== 'missing' && seen.keyState !== 'refused') return nothing;
  const isRefused = seen.keyState === 'refused';
  const isWrong = isRefused || keyMistake !== '';
  return html`<form class=${isLocked(page) ? 'card key' : 'card'} autocomplete="off" @submit=${onEnter('api-key', (typed) => page.setKey(typed.trim()))}>
    <h2 id="key-title">${isRefused ? 'The API key was not accepted.' : 'This service requires an API key.'}</h2>
    <p id="key-about">
      ${isRefused ? 'It is wrong, expired or removed.' : ''}
      The operators of this service make one with <code>recourse key --tenant NAME</code>. It stays in this tab.
    </p>
    <div class="field">
      <label for="api-key">API key</label>
      <div class="row">
        <input id="api-key" type="password" autocomplete="off" spellcheck="false"
          aria-invalid=${isWrong ? 'true' : nothing} aria-describedby=${keyMistake === '' ? 'key-title key-about' : 'key-mistake'} />
        <button class="primary">Use key</button>
      </div>
    </div>
    ${some(keyMistake, (why) => html`<p id="key-mistake" class="mistake" role="alert">${why}</p>`)}
  </form>`;
};
