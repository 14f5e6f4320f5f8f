import { html, nothing, type TemplateResult } from 'lit-html';
import { extensionLinks, extensionTemplate } from './extension-page.ts';
import type { PageModel, Question } from './page-model.ts';
import { fieldBox, onEnter, some } from './page-parts.ts';
import { sessionTemplate } from './session-template.ts';
import { toolsTemplate } from './tools-template.ts';
import { unknownTemplate } from './unknown-template.ts';

/** The whole page. */
export const pageTemplate = (page: PageModel): TemplateResult => {
  const { route, seen } = page;
  return html`<header class="row">
      <h1>Recourse <span class="muted">console</span></h1>
      <nav class="row" aria-label="Pages">
        <a href="#" aria-current=${route.page === 'tools' ? 'page' : nothing}>Tools</a>
        <a href="#session=" aria-current=${route.page === 'session' ? 'page' : nothing}>Sessions</a>
        <a href="#unknown=" aria-current=${route.page === 'unknown' ? 'page' : nothing}>
          Unknown outcomes${some(seen.unknownCount || null, (count) => ` (${count})`)}
        </a>
        ${extensionLinks(route.page === 'extension' ? route.name : null)}
      </nav>
      ${keyTemplate(page)}
    </header>
    <main>${mainTemplate(page)}</main>
    <div class="unseen" role="status" aria-live="polite">${seen.announcement}</div>
    ${questionTemplate(page)}`;
};

const mainTemplate = (page: PageModel): TemplateResult => {
  const { route } = page;
  if (route.page === 'tools') return toolsTemplate(page, route.tool);
  if (route.page === 'unknown') return unknownTemplate(page);
  return route.page === 'session' ? sessionTemplate(page, route.id) : extensionTemplate(route.name);
};

const questionTemplate = (page: PageModel): unknown =>
  some(
    page.question,
    (question) => html`<dialog class="card" aria-labelledby="question-title" aria-describedby="question-text"
      @close=${() => page.answerQuestion('no')}>
      <h2 id="question-title">${question.title}</h2>
      <p id="question-text">${question.text}</p>
      <form autocomplete="off" @submit=${(event: SubmitEvent) => page.answerQuestion('yes', typedInto(event))}>
        ${question.fields?.map(questionField)}
        ${some(question.mistake, (mistake) => html`<p class="mistake" role="alert">${mistake}</p>`)}
        <div class="row">
          <button type="button" class="last" ?autofocus=${question.fields === undefined}
            @click=${() => page.answerQuestion('no')}>Cancel</button>
          <button class="primary">${question.label}</button>
        </div>
      </form>
    </dialog>`,
  );

const questionField = ({ name, label, about }: NonNullable<Question['fields']>[number], index: number) => {
  const id = `question-${name}`;
  const control = html`<textarea id=${id} name=${name} rows="2" ?autofocus=${index === 0} aria-describedby=${`${id}-about`}></textarea>`;
  return fieldBox(id, label, control, about);
};

/** What stands in the fields of a form that is sent, by name. */
const typedInto = (event: SubmitEvent): Readonly<Record<string, string>> => {
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
