import { html, nothing, type TemplateResult } from 'lit-html';
import type { View } from './actions.ts';
import { extensionLinks, extensionTemplate } from './extension-page.ts';
import type { Part } from './page-parts.ts';
import { sessionTemplate } from './session-template.ts';
import type { Question } from './state.ts';
import { toolsTemplate } from './tools-template.ts';

/** The whole page. */
export const pageTemplate = (view: View): TemplateResult => {
  const { route, announcement, question } = view.state;
  return html`<header>
      <h1>Recourse <span>console</span></h1>
      <nav aria-label="Pages">
        <a href="#" aria-current=${route.page === 'tools' ? 'page' : nothing}>Tools</a>
        <a href="#session=" aria-current=${route.page === 'session' ? 'page' : nothing}>Sessions</a>
        ${extensionLinks(route.page === 'extension' ? route.name : null)}
      </nav>
      ${keyTemplate(view)}
    </header>
    <main>${mainTemplate(view)}</main>
    <div class="unseen" role="status" aria-live="polite">${announcement}</div>
    ${questionTemplate(view, question)}`;
};

const mainTemplate = (view: View): TemplateResult => {
  const { route } = view.state;
  if (route.page === 'tools') return toolsTemplate(view, route.tool);
  return route.page === 'session' ? sessionTemplate(view, route.id) : extensionTemplate(route.name);
};

const questionTemplate = ({ act }: View, question: Question | null): Part =>
  question === null
    ? nothing
    : html`<dialog aria-labelledby="question-title" aria-describedby="question-text" @close=${() => act.answerQuestion('no')}>
        <h2 id="question-title">${question.title}</h2>
        <p id="question-text">${question.text}</p>
        <div class="actions">
          <button type="button" autofocus @click=${() => act.answerQuestion('no')}>Cancel</button>
          <button type="button" class="primary" @click=${() => act.answerQuestion('yes')}>${question.label}</button>
        </div>
      </dialog>`;

/** The field for the API key while there is none or the service refuses it; else that one is in use. */
const keyTemplate = (view: View): TemplateResult => {
  const { key, keyState } = view.state;
  if (key === '') return formTemplate(view, nothing);
  if (keyState === 'refused') return formTemplate(view, forgetTemplate(view));
  return html`<div class="key">
    <span class="muted">API key in use, in this tab only</span>
    ${forgetTemplate(view)}
  </div>`;
};

const forgetTemplate = ({ act }: View): TemplateResult =>
  html`<button type="button" class="quiet" @click=${() => act.setKey('')}>Forget key</button>`;

const formTemplate = ({ state, act }: View, forget: Part): TemplateResult => {
  const use = (event: SubmitEvent): void => {
    event.preventDefault();
    const input = document.getElementById('api-key');
    if (input instanceof HTMLInputElement) act.setKey(input.value.trim());
  };
  const isRefused = state.keyState === 'refused';
  const isWrong = isRefused || state.keyMistake !== '';
  return html`<form class="key" autocomplete="off" @submit=${use}>
    ${isRefused ? html`<span id="key-refused" class="mistake">API key refused</span>` : nothing}
    <label for="api-key">API key</label>
    <input id="api-key" type="password" autocomplete="off" spellcheck="false"
      aria-invalid=${isWrong ? 'true' : nothing} aria-describedby=${isWrong ? 'key-refused key-mistake' : nothing} />
    <button>Use key</button>
    ${forget}
    ${state.keyMistake === '' ? nothing : html`<span id="key-mistake" class="mistake" role="alert">${state.keyMistake}</span>`}
  </form>`;
};
