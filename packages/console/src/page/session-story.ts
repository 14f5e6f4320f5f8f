import { html, nothing, type TemplateResult } from 'lit-html';
import { type SessionView, toAddress } from './api.ts';
import { copyButton } from './copy-button.ts';
import { toCallBody, toCurl } from './curl.ts';
import { indentJson, toJsonText } from './json.ts';
import type { PageModel } from './page-model.ts';
import { ago, briefOf, folded, longText, moment, outcomeMark, some, toDuration } from './page-parts.ts';
import { routeLink } from './route.ts';
import { type CallRow, foldRefusals, nameOf, type SessionCall } from './session-calls.ts';
import { lanesTemplate } from './session-lanes.ts';
import { toVisible, toVisibleName } from './visible-text.ts';

/** What was called in a session: a picture of it, what has not ended, and its calls, the latest first. */
export const storyTemplate = (page: PageModel, view: SessionView): TemplateResult => {
  const { calls, pending = [] } = view;
  const rows = foldRefusals(calls);
  return html`<h3>Calls</h3>
    ${lanesTemplate(rows)} ${some(pending, (all) => html`<ul class="list">${all.map(pendingTemplate)}</ul>`)}
    ${calls.length > 0 ? nothing : html`<p class="muted">The journal is empty.</p>`}
    <ol class="timeline" reversed>${rows.toReversed().map((row) => rowTemplate(page, row))}</ol>
    ${calls.length === 0 ? nothing : copyButton(page, 'Copy the session as JSON', () => toJsonText(view))}
    ${view.truncated ? html`<p class="muted">Earlier calls are no longer in the journal: the store needed the memory.</p>` : nothing}`;
};

const pendingTemplate = ({
  tool,
  state,
  since,
  request_id: id,
}: NonNullable<SessionView['pending']>[number]): TemplateResult =>
  html`<li class="row">
    <span class="name">${toVisibleName(tool)}</span> ${outcomeMark('pending', state.replaceAll('_', ' '))}
    <span class="muted">since ${ago(since)}, request <code>${toVisibleName(id)}</code></span>
    ${state === 'waiting_for_approval' ? html`<a href=${routeLink({ approvals: '' })}>Approvals</a>` : nothing}
  </li>`;

const identityOf = ({ request_id: id, step, index }: SessionCall): string => `call:${id}:${step}:${index}`;

/** One call, or refusals that are alike: these fold out to each of them. */
const rowTemplate = (page: PageModel, row: CallRow): TemplateResult => {
  const { last, calls, times } = row;
  const [first = last] = calls;
  if (calls.length === 1) return html`<li>${callTemplate(page, last, times)}</li>`;
  // By the first of them: more may come to a row while it is read.
  const identity = `row:${identityOf(first)}`;
  return html`<li>
    ${folded(
      page,
      identity,
      lineTemplate(last, times, first),
      () =>
        html`<ol class="timeline" reversed>${calls.toReversed().map((call) => html`<li>${callTemplate(page, call, call.repeats ?? 1)}</li>`)}</ol>`,
    )}
    ${page.opened.has(identity) ? nothing : briefTemplate(last)}
  </li>`;
};

const briefTemplate = ({ message }: SessionCall): unknown =>
  some(briefOf(message), (text) => html`<p class="first-line brief">${toVisible(text)}</p>`);

/** A call of the session; folds out to its arguments and its whole message. */
const callTemplate = (page: PageModel, call: SessionCall, times: number): TemplateResult => {
  const identity = identityOf(call);
  return html`${folded(page, identity, lineTemplate(call, times, call), () => detailsTemplate(page, identity, call))}
    ${page.opened.has(identity) ? nothing : briefTemplate(call)}
    ${some(
      call.late,
      ({ time, outcome, code, message }) => html`<p class="late muted">
        Finished later, at ${moment(time)}: ${outcomeMark(outcome)} ${some(code, (code) => html`<code>${code}</code>`)}
        <span class="brief">${toVisible(briefOf(message))}</span>
      </p>`,
    )}`;
};

const lineTemplate = (call: SessionCall, times: number, first: SessionCall): TemplateResult => {
  const rounds = first.step === call.step ? `round ${call.step}` : `rounds ${startOf(first)} to ${call.step}`;
  return html`<span class="row">
    <span class="muted">${moment(call.time)} <span>${rounds}</span></span>
    <span class="name">${toVisibleName(nameOf(call))}</span>
    ${outcomeMark(call.outcome)} ${some(call.code, (code) => html`<code>${code}</code>`)}
    ${times === 1 ? nothing : html`<b>(${times} times)</b>`}
    <span class="muted">${toDuration(call.duration_ms)}${call.replayed ? ', replayed: the stored result of an earlier call' : ''}</span>
  </span>`;
};

// Of repeats the last one is on record.
const startOf = ({ step, repeats = 1 }: SessionCall): number => Math.max(1, step - repeats + 1);

const detailsTemplate = (page: PageModel, identity: string, call: SessionCall): TemplateResult => {
  const entry = (term: string, text: string | undefined): unknown =>
    some(text, (all) => html`<dt>${term}</dt><dd>${longText(page, `${identity}:${term}`, all)}</dd>`);
  return html`<dl class="reading">
    ${entry('Arguments', indentJson(call.arguments))} ${entry('Message', call.message)}
    ${entry('Late message', call.late?.message)}
  </dl>
  <p class="muted">
    executed: ${call.executed} · retries left: ${call.retries_left ?? 'not counted'} · request
    <a href=${routeLink({ search: call.request_id })}><code>${toVisible(call.request_id)}</code></a>
    ${some(call.effect_id, (id) => html`· effect <code>${toVisibleName(id)}</code>`)}
  </p>
  <p class="row">
    ${copyButton(page, 'Copy as curl', () => toCurl(toCallBody(nameOf(call), call.arguments), page.key, toAddress('tool-calls')))}
    ${copyButton(page, 'Copy as JSON', () => toJsonText(call))}
    ${some(call.tool, (tool) => html`<a href=${routeLink({ tool })}>Tool</a>`)}
  </p>`;
};
