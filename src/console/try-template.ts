import { html, nothing, type TemplateResult } from 'lit-html';
import { fieldsTemplate } from './fields-template.ts';
import { MAX_FIELDS, toFields } from './form-field.ts';
import { oncePerObject } from './json-text.ts';
import { parseJson } from './parse-json.ts';
import { isRecord } from './read-json.ts';
import { attemptTemplate } from './result-template.ts';
import { type CallOptions, draftOf } from './state.ts';
import { mayRunUnasked, type ToolDescription } from './tool-description.ts';
import type { View } from './view.ts';

/** A form for one call of a tool, the same as JSON, and what came of it. */
export const tryTemplate = (view: View, tool: ToolDescription): TemplateResult => {
  const { state, act } = view;
  const { text, attempt } = draftOf(state, tool.name);
  const submit = (event: Event): void => {
    event.preventDefault();
    act.send(tool);
  };
  const sendByKey = (event: KeyboardEvent): void => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) submit(event);
  };
  return html`<section aria-labelledby="try-title">
    <h3 id="try-title">Try a call</h3>
    <form class="try" novalidate autocomplete="off" @submit=${submit} @keydown=${sendByKey}>
      ${formTemplate(view, tool, text)}
      <div class="field">
        <label for="arguments">Arguments as JSON</label>
        <textarea id="arguments" class="code" rows="4" spellcheck="false" aria-describedby="arguments-about"
          .value=${text} @input=${(event: Event) => act.editText(tool.name, typedIn(event))}></textarea>
        <div class="about" id="arguments-about">Sent exactly as it stands here, also if it is not JSON: a model may do that, too.</div>
      </div>
      <div class="options">
        ${OPTIONS.map((option) => optionTemplate(view, option))}
      </div>
      <div class="actions">
        <button class="primary" ?disabled=${attempt.kind === 'sending'}>Send</button>
        <span class="muted" id="send-about">${aboutSending(tool)}</span>
      </div>
    </form>
    ${attemptTemplate(view, tool, attempt)}
  </section>`;
};

const fieldsOf = oncePerObject(toFields);

const formTemplate = ({ act }: View, tool: ToolDescription, text: string): unknown => {
  const { fields, left } = fieldsOf(tool.inputSchema);
  if (fields.length === 0) return html`<p class="muted">The schema names no parameters.</p>`;
  const parsed = parseJson(text);
  if (parsed.kind === 'broken' || !isRecord(parsed.value)) {
    const why = parsed.kind === 'broken' ? parsed.why : 'Arguments are one object.';
    return html`<p class="notice">The form rests until the JSON below is an object. <span class="muted">${why}</span></p>`;
  }
  const form = {
    root: parsed.value,
    change: (path: readonly (string | number)[], value: unknown) => act.editValue(tool.name, path, value),
    room: { left: MAX_FIELDS },
  };
  return html`${fieldsTemplate(form, fields, [], 'field')}
  ${left === 0 ? nothing : html`<p class="notice">${left} more parameters have no field here: the JSON below takes them.</p>`}`;
};

type Option = { readonly name: keyof CallOptions; readonly label: string; readonly about: string };

const OPTIONS: readonly Option[] = [
  { name: 'sessionId', label: 'Session id', about: 'Optional. Budgets are kept per session.' },
  {
    name: 'idempotencyKey',
    label: 'Idempotency key',
    about: 'Optional. The same key gives the same answer, once run.',
  },
  { name: 'timeoutMs', label: 'Timeout (ms)', about: "Optional. Only shortens the tool's own." },
];

const optionTemplate = ({ state, act }: View, { name, label, about }: Option): TemplateResult =>
  html`<div class="field">
    <label for=${`option-${name}`}>${label}</label>
    <input id=${`option-${name}`} spellcheck="false" aria-describedby=${`option-${name}-about`}
      .value=${state.options[name]} @input=${(event: Event) => act.setOption(name, typedIn(event))} />
    <div class="about" id=${`option-${name}-about`}>${about}</div>
  </div>`;

const aboutSending = ({ effects, available }: ToolDescription): string | typeof nothing => {
  if (!available) return 'This tool is not available now: the call will say so.';
  if (mayRunUnasked(effects)) return nothing;
  return `${effects === 'write' ? 'A write tool' : 'It does not say what it changes'}: you are asked before it runs.`;
};

const typedIn = ({ target }: Event): string =>
  target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement ? target.value : '';
