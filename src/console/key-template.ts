import { html, nothing, type TemplateResult } from 'lit-html';
import type { Part } from './small-templates.ts';
import type { View } from './view.ts';

/** The field for the API key while there is none or the service refuses it; else that one is in use. */
export const keyTemplate = (view: View): TemplateResult => {
  const { key, keyStanding } = view.state;
  if (key === '') return formTemplate(view, nothing);
  if (keyStanding === 'refused') return formTemplate(view, forgetTemplate(view));
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
  const isRefused = state.keyStanding === 'refused';
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
