import { html, nothing, type TemplateResult } from 'lit-html';
import { sessionTemplate } from './session-template.ts';
import type { Part } from './small-templates.ts';
import type { Question } from './state.ts';
import { toolsTemplate } from './tools-template.ts';
import type { View } from './view.ts';

/** The whole page. */
export const pageTemplate = (view: View): TemplateResult => {
  const { route, announcement, question } = view.state;
  return html`<header>
      <h1>Recourse <span>console</span></h1>
      <nav aria-label="Pages">
        <a href="#" aria-current=${route.page === 'tools' ? 'page' : nothing}>Tools</a>
        <a href="#session=" aria-current=${route.page === 'session' ? 'page' : nothing}>Sessions</a>
      </nav>
      ${keyTemplate(view)}
    </header>
    <main>${route.page === 'tools' ? toolsTemplate(view, route.tool) : sessionTemplate(view, route.id)}</main>
    <div class="unseen" role="status" aria-live="polite">${announcement}</div>
    ${questionTemplate(view, question)}`;
};

const keyTemplate = ({ state, act }: View): TemplateResult => {
  const use = (event: SubmitEvent): void => {
    event.preventDefault();
    const input = document.getElementById('api-key');
    if (input instanceof HTMLInputElement) act.setKey(input.value.trim());
  };
  if (state.key !== '')
    return html`<div class="key">
      <span class="muted">API key in use, in this tab only</span>
      <button type="button" class="quiet" @click=${() => act.setKey('')}>Forget key</button>
    </div>`;
  return html`<form class="key" autocomplete="off" @submit=${use}>
    <label for="api-key">API key</label>
    <input id="api-key" type="password" autocomplete="off" spellcheck="false"
      aria-describedby=${state.keyMistake === '' ? nothing : 'key-mistake'} />
    <button>Use key</button>
    ${state.keyMistake === '' ? nothing : html`<span id="key-mistake" role="alert">${state.keyMistake}</span>`}
  </form>`;
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
