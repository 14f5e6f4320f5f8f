import { html, nothing, type TemplateResult } from 'lit-html';
import type { View } from './actions.ts';
import { explainTrouble, type Trouble } from './answers.ts';
import { toVisible } from './visible-text.ts';

export type Part = TemplateResult | typeof nothing;

// More than this is seldom read, and a megabyte would make the page slow.
const MAX_CHARACTERS = 4_000;
const COUNT = new Intl.NumberFormat('en');

/** A text of any length and content: its beginning, and all of it on demand. */
export const longText = ({ state, act }: View, identity: string, text: string): TemplateResult => {
  const isWhole = text.length <= MAX_CHARACTERS || state.opened.has(identity);
  return html`<pre class="text">${toVisible(isWhole ? text : text.slice(0, MAX_CHARACTERS))}${isWhole ? '' : '…'}</pre>
    ${
      isWhole
        ? nothing
        : html`<button type="button" class="quiet more" @click=${() => act.toggle(identity)}>
            Show all (${COUNT.format(text.length)} characters)
          </button>`
    }`;
};

/** Something that is rendered only while it is folded out. */
export const folded = (
  { state, act }: View,
  identity: string,
  label: unknown,
  content: () => unknown,
): TemplateResult => {
  const isOpen = state.opened.has(identity);
  return html`<div class="folded">
    <button type="button" class="fold" aria-expanded=${isOpen ? 'true' : 'false'} @click=${() => act.toggle(identity)}>
      ${label}
    </button>
    ${isOpen ? html`<div class="unfolded">${content()}</div>` : nothing}
  </div>`;
};

const SYMBOLS: ReadonlyMap<string, string> = new Map([
  ['success', '✓'],
  ['retry', '↻'],
  ['failed', '✕'],
  ['refused', '⊘'],
  ['unknown', '?'],
  ['pending', '…'],
]);

/** An outcome as a mark that is told by its word and sign, not by its colour alone. */
export const outcomeMark = (outcome: string): TemplateResult => {
  const symbol = SYMBOLS.get(outcome);
  const kind = symbol === undefined ? 'other' : outcome;
  return html`<span class="mark ${kind}"><span aria-hidden="true">${symbol ?? '·'}</span> ${toVisible(outcome)}</span>`;
};

/** Why something could not be had, and what to do. */
export const troubleBox = ({ state }: View, trouble: Trouble | null): Part => {
  if (trouble === null) return nothing;
  const { title, advice } = explainTrouble(trouble, state.key, location.origin);
  const id = trouble.kind === 'refused' ? trouble.requestId : '';
  return html`<div class="trouble" role="alert">
    <strong>${title}</strong>
    <p>${toVisible(advice)}</p>
    ${trouble.kind === 'refused' ? html`<p class="muted">HTTP ${trouble.status} ${toVisible(trouble.code)}</p>` : nothing}
    ${id === '' ? nothing : html`<p class="muted">Request <code>${toVisible(id)}</code></p>`}
  </div>`;
};

export const toDuration = (ms: number): string => {
  if (ms >= 1_000) return `${(ms / 1_000).toFixed(2)} s`;
  return `${ms < 10 ? ms.toFixed(1) : ms.toFixed(0)} ms`;
};

const CLOCK = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });

/** A moment on the reader's clock, with the exact one beside it for machines and on hover. */
export const moment = (iso: string): TemplateResult => {
  const date = new Date(iso);
  const shown = Number.isNaN(date.getTime()) ? toVisible(iso) : CLOCK.format(date);
  return html`<time datetime=${iso} title=${toVisible(iso)}>${shown}</time>`;
};
