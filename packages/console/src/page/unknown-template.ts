import { html, nothing, type TemplateResult } from 'lit-html';
import { UNKNOWN_PATH } from './api.ts';
import { askVerdict, look } from './changes.ts';
import { indentJson } from './json.ts';
import { firstOpen } from './kept-list.ts';
import type { PageModel, TroublePlace } from './page-model.ts';
import {
  factList,
  firstLineOf,
  folded,
  liveTemplate,
  longText,
  moment,
  outcomeMark,
  some,
  toAge,
  troubleBox,
} from './page-parts.ts';
import type { Question } from './seen.ts';
import { explainState, findMistake, isOpen, type Outcome, type UnknownList } from './unknown-outcomes.ts';
import { toVisible, toVisibleName } from './visible-text.ts';

/** The writes of which nobody knows how they ended, oldest first. */
export const view = (page: PageModel): TemplateResult => {
  const { outcomes, readTrouble, readAt, unknownCount } = page.seen;
  const shown = [...outcomes.values()];
  const isCut = readAt !== '' && (unknownCount ?? 0) > shown.filter(({ isListed }) => isListed).length;
  return html`<section aria-labelledby="unknown-title">
    <h2 id="unknown-title" tabindex="-1">Unknown outcomes</h2>
    ${liveTemplate(page)} ${troubleBox(page, readTrouble)}
    ${unknownCount === 0 && shown.length === 0 ? html`<p class="notice">${NONE}</p>` : nothing}
    ${isCut ? html`<p class="notice">There are ${unknownCount}: the oldest are listed.</p>` : nothing}
    <ul class="outcomes">${shown.map((outcome) => outcomeTemplate(page, outcome))}</ul>
  </section>`;
};

export const read = (page: PageModel, signal: AbortSignal): void => readEntries(page, signal, 'readTrouble');

/** As list items: the first that are open. */
export const entries = (page: PageModel, most: number): readonly unknown[] =>
  firstOpen(page.seen.outcomes.values(), isOpen, most).map((outcome) =>
    outcome === null ? nothing : outcomeTemplate(page, outcome),
  );

export const readEntries = (page: PageModel, signal: AbortSignal, place: TroublePlace = 'outcomeTrouble'): void =>
  void page.read<UnknownList>(UNKNOWN_PATH, (list) => page.seen.takeUnknown(list), signal, { place });

const NONE =
  'No outcome is unknown: a write would be listed here if it broke off, its tool has a reconcile, and nobody knows whether it took effect.';

const outcomeTemplate = (page: PageModel, outcome: Outcome): TemplateResult => {
  const { call, isAsked } = outcome;
  return html`<li class="card">
    <h3 class="row" tabindex="-1">
      <span class="name">${toVisibleName(call.tool)}</span> ${markTemplate(outcome)}
      ${isAsked ? html`<span class="muted">Waiting for the answer…</span>` : nothing}
    </h3>
    ${isOpen(outcome) ? openTemplate(page, outcome) : nothing} ${troubleBox(page, page.seen.refusals.get(call.effect_id) ?? null)}
    <p class="muted">
      Effect <code>${toVisibleName(call.effect_id)}</code> · request <code>${toVisibleName(call.request_id)}</code>, call
      ${call.index}
    </p>
  </li>`;
};

const markTemplate = (outcome: Outcome): TemplateResult => {
  const { verdict } = outcome.call;
  const state = explainState(outcome);
  if (verdict === null) return outcomeMark('unknown', state);
  return outcomeMark(verdict === 'happened' ? 'success' : 'retry', state);
};

const openTemplate = (page: PageModel, outcome: Outcome): TemplateResult => {
  const {
    tool,
    effect_id: effectId,
    code,
    since,
    attempts,
    next_look_at: next,
    run_may_act_until: until,
  } = outcome.call;
  const button = (label: string, act: () => void, kind = ''): TemplateResult =>
    html`<button type="button" class=${kind} aria-label="${label}: ${toVisibleName(tool)} ${toVisibleName(effectId)}"
      @click=${act}>${label}</button>`;
  return html`${factList([
    ['Unknown for', some(since, (at) => html`${toAge(Date.now() - Date.parse(at))}, since ${moment(at)}`)],
    ['Why', code === null ? 'its process died' : html`<code>${code}</code>`],
    ['Looks so far', attempts],
    ['Next look', some(next, (at) => (Date.parse(at) > Date.now() ? moment(at) : 'now'))],
    ...(until === null ? [] : [['Its run may act until', moment(until)] as const]),
  ])}
  ${argumentsTemplate(page, outcome)}
  <div class="row">
    ${button('Look now', () => look(page, outcome), 'primary')}
    ${button('It happened', () => askVerdict(page, outcome, 'happened', askHappened(outcome)))}
    ${button('It did not happen', () => askVerdict(page, outcome, 'did_not_happen', askNot(outcome)), 'danger')}
  </div>`;
};

const argumentsTemplate = (page: PageModel, { call }: Outcome): TemplateResult => {
  if (call.arguments === '') return html`<p class="muted">Its arguments are not shown: the tool is not here now.</p>`;
  const identity = `unknown:${call.effect_id}`;
  return html`${folded(page, identity, 'Arguments', () =>
    longText(page, `${identity}:all`, indentJson(call.arguments)),
  )}
  ${page.opened.has(identity) ? nothing : html`<p class="first-line"><code>${toVisible(firstLineOf(call.arguments))}</code></p>`}`;
};

const REASON = { name: 'reason', label: 'Reason', about: 'Required. How you know, for the log.' };
const VALUE = { name: 'value', label: 'Value as JSON', about: 'Optional. What the call returns; null if left empty.' };

type Asked = Omit<Question, 'act'>;

const askHappened = ({ call }: Outcome): Asked => ({
  title: `Did this call of ${toVisibleName(call.tool)} happen?`,
  text: `${nameEffect(call)} Its caller, and every repeat with its key, gets this value as a success. This cannot be taken back.`,
  ...{ label: 'It happened', fields: [VALUE, REASON], findMistake },
});

const askNot = ({ call }: Outcome): Asked => ({
  title: `Did this call of ${toVisibleName(call.tool)} not happen?`,
  text: `${nameEffect(call)} The same key will run the write again: if it did happen after all, it may happen twice.`,
  ...{ label: 'It did not happen', fields: [REASON], findMistake },
});

const nameEffect = ({ effect_id: effectId }: Outcome['call']): string => `Effect ${toVisibleName(effectId)}.`;
