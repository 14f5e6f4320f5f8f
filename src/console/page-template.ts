import { html, nothing, type TemplateResult } from 'lit-html';
import { keyTemplate } from './key-template.ts';
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
