import { html, nothing, type TemplateResult } from 'lit-html';
import { extensionLinks } from './extension-page.ts';
import type { PageModel } from './page-model.ts';
import { fieldBox, onEnter, some } from './page-parts.ts';
import { type PageName, routeLink } from './route.ts';
import type { Question } from './seen.ts';
import { toVisible } from './visible-text.ts';

/** The whole page. */
export const pageTemplate = (page: PageModel): TemplateResult => {
  const { route, seen } = page;
  return html`<header class="row">
      <h1>Recourse <span class="muted">console</span></h1>
      <nav class="row" aria-label="Pages">
        ${NAVIGATION.map((entry) => linkTemplate(page, entry))}
        ${extensionLinks(route.page === 'extension' ? route.name : null)}
      </nav>
      <form role="search" autocomplete="off" @submit=${onEnter('find', find)}>
        <input id="find" type="search" spellcheck="false" aria-label="Find" placeholder="Find an id, a hash, a tool" />
      </form>
      ${keyTemplate(page)}
    </header>
    <main>${page.view?.view(page)}</main>
    <div class="unseen" role="status" aria-live="polite">${seen.announcement}</div>
    ${questionTemplate(page)}`;
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

/** The field for the API key while there is none or the service refuses it; else that one is in use. */
const keyTemplate = (page: PageModel): TemplateResult => {
  const { key, keyMistake, seen } = page;
  const isRefused = key !== '' && seen.keyState === 'refused';
  const forget =
    key === ''
      ? nothing
      : html`<button type="button" class="quiet" @click=${() => page.setKey('')}>Forget key</button>`;
  if (key !== '' && !isRefused)
    return html`<div class="row last"><span class="muted">API key in use, in this tab only</span> ${forget}</div>`;
  const isWrong = isRefused || keyMistake !== '';
  return html`<form class="row last" autocomplete="off" @submit=${onEnter('api-key', (typed) => page.setKey(typed.trim()))}>
    ${isRefused ? html`<span id="key-refused" class="mistake">API key refused</span>` : nothing}
    <label for="api-key">API key</label>
    <input id="api-key" type="password" autocomplete="off" spellcheck="false"
      aria-invalid=${isWrong ? 'true' : nothing} aria-describedby=${isWrong ? 'key-refused key-mistake' : nothing} />
    <button>Use key</button>
    ${forget} ${some(keyMistake, (why) => html`<span id="key-mistake" class="mistake" role="alert">${why}</span>`)}
  </form>`;
};
