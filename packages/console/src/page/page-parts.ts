import { html, nothing, type TemplateResult } from 'lit-html';
import { explainTrouble, type Trouble } from './api.ts';
import type { PageModel } from './page-model.ts';
import { toVisible } from './visible-text.ts';

/** The template of a value; nothing for an empty text or list, or without a value. */
export const some = <Value>(value: Value, template: (value: NonNullable<Value>) => unknown): unknown => {
  if (value === null || value === undefined || value === '' || value === nothing) return nothing;
  return Array.isArray(value) && value.length === 0 ? nothing : template(value);
};

/** A whole number with its thousands apart: `1,200`. By hand, as all here: to load what formats for locales takes a browser 20 ms. */
export const toNumber = (count: number): string => String(count).replace(/\B(?=(\d{3})+$)/g, ',');

/** `1 call`, `2 calls`, `1,200 calls`. */
export const toCount = (count: number, noun: string, plural = `${noun}s`): string =>
  `${toNumber(count)} ${count === 1 ? noun : plural}`;

// More than this is seldom read, and a megabyte would make the page slow.
const MAX_CHARACTERS = 4_000;

/** A text of any length and content: its beginning, and all of it on demand. */
export const longText = (page: PageModel, identity: string, text: string): TemplateResult => {
  if (text.length <= MAX_CHARACTERS || page.opened.has(identity))
    return html`<pre class="text">${toVisible(text)}</pre>`;
  return html`<pre class="text">${toVisible(text.slice(0, MAX_CHARACTERS))}…</pre>
    <button type="button" class="quiet" @click=${() => page.toggle(identity)}>
      Show all (${toNumber(text.length)} characters)
    </button>`;
};

/** Something that is rendered only while it is folded out. */
export const folded = (page: PageModel, identity: string, label: unknown, content: () => unknown): TemplateResult => {
  const isOpen = page.opened.has(identity);
  return html`<div>
    <button type="button" class="fold" aria-expanded=${isOpen ? 'true' : 'false'} @click=${() => page.toggle(identity)}>
      ${label}
    </button>
    ${isOpen ? html`<div class="unfolded">${content()}</div>` : nothing}
  </div>`;
};

export const factList = (facts: readonly (readonly [string, unknown])[]): TemplateResult =>
  html`<dl class="facts">${facts.map(([term, fact]) => html`<div><dt>${term}</dt><dd>${fact}</dd></div>`)}</dl>`;

/** A control with its label above it and what is said of it below. */
export const fieldBox = (id: string, label: unknown, control: unknown, about: unknown): TemplateResult =>
  html`<div class="field">
    <label for=${id}>${label}</label>
    ${control} ${some(about, (text) => html`<div class="about" id=${`${id}-about`}>${text}</div>`)}
  </div>`;

export const OUTCOME_SYMBOLS = {
  success: '✓',
  retry: '↻',
  failed: '✕',
  refused: '⊘',
  unknown: '?',
  pending: '…',
  checked: '≈',
};

/** A mark that is told by its word and sign, not by its colour alone; its word is the outcome's unless it has another. */
export const outcomeMark = (outcome: keyof typeof OUTCOME_SYMBOLS, word: string = outcome): TemplateResult =>
  html`<span class="mark ${outcome}"><span aria-hidden="true">${OUTCOME_SYMBOLS[outcome]}</span> ${word}</span>`;

/** Why something could not be had, and what to do. */
export const troubleBox = ({ key }: PageModel, trouble: Trouble | null): unknown =>
  some(trouble, (trouble) => {
    const [title, advice] = explainTrouble(trouble, key, location.origin);
    return html`<div class="trouble" role="alert">
      <strong>${title}</strong>
      <p>${toVisible(advice)}</p>
      ${some(trouble.status || null, (status) => html`<p class="muted">HTTP ${status} ${toVisible(trouble.code)}</p>`)}
      ${some(trouble.request_id, (id) => html`<p class="muted">Request <code>${toVisible(id)}</code></p>`)}
    </div>`;
  });

/** What came of the button that deletes what a path names: it stands beside the button. */
export const changeTemplate = (page: PageModel, path: string): TemplateResult =>
  html`${troubleBox(page, page.seen.refusals.get(path) ?? null)}
    ${some(page.seen.done.get(path), ({ at, text }) => html`<p class="muted">✓ ${moment(at)} ${text}</p>`)}`;

export const toDuration = (ms: number): string => {
  if (ms >= 1_000) return `${(ms / 1_000).toFixed(2)} s`;
  return `${ms < 10 ? ms.toFixed(1) : ms.toFixed(0)} ms`;
};

/** How long ago something was, in whole minutes from the first one on. */
export const toAge = (ms: number): string => {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  const minutes = Math.floor(seconds / 60);
  if (minutes === 0) return `${seconds} s`;
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
};

/** How long ago something was, with the exact time on hover. */
export const ago = (iso: string): TemplateResult =>
  html`<time datetime=${iso} title=${iso}>${toAge(Date.now() - Date.parse(iso))} ago</time>`;

/** How long something still lasts, to the second and of one width for hours on end. */
export const toLeft = (ms: number): string => {
  const seconds = Math.max(0, Math.ceil(ms / 1_000));
  const [hours, ...rest] = [seconds / 3600, (seconds / 60) % 60, seconds % 60].map((part) =>
    `${Math.floor(part)}`.padStart(2, '0'),
  );
  return [...(hours === '00' ? [] : [hours]), ...rest].join(':');
};

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const toDay = (time: Date): string => `${time.getDate()} ${MONTHS[time.getMonth()]} ${time.getFullYear()}`;
const toClock = (time: Date): string =>
  [time.getHours(), time.getMinutes(), time.getSeconds()].map((part) => `${part}`.padStart(2, '0')).join(':');

/** A moment on the reader's clock, with its day unless that is today, and the exact one beside it for machines and on hover. */
export const moment = (iso: string): TemplateResult => {
  const time = new Date(iso);
  const day = toDay(time);
  const text = day === toDay(new Date()) ? toClock(time) : `${day}, ${toClock(time)}`;
  return html`<time datetime=${iso} title=${iso}>${text}</time>`;
};

/** Whether the page is read again and again, and a button that changes that; `last`: what happened at the time beside it. */
export const liveTemplate = (page: PageModel, live = 'Live: read every 2 s.', last = 'Last read'): TemplateResult => {
  const isLive = page.polling === 'live';
  return html`<p class="row">
    <button type="button" class="quiet" @click=${() => page.setPolling(isLive ? 'paused' : 'live')}>
      ${isLive ? 'Pause' : 'Resume'}
    </button>
    <span class="muted left">
      ${isLive ? live : 'Paused.'} ${some(page.seen.readAt, (at) => html`${last} ${moment(at)}.`)}
    </span>
  </p>`;
};

const MAX_LINE = 240;

/** The beginning of a text, on one line. */
export const firstLineOf = (message: string): string => {
  const [line = ''] = message.slice(0, MAX_LINE + 1).split('\n', 1);
  return line.length < message.length ? `${line.slice(0, MAX_LINE)}…` : line;
};

const BRIEF_LINES = 4;

/** The beginning of a text, with its line ends. */
export const briefOf = (message: string): string => {
  const brief = message
    .slice(0, MAX_LINE * 2)
    .split('\n')
    .slice(0, BRIEF_LINES)
    .join('\n')
    .trimEnd();
  return brief.length < message.trimEnd().length ? `${brief} …` : brief;
};

/** What a control has now. */
export const typedIn = ({ target }: Event): string =>
  target instanceof HTMLElement && 'value' in target ? String(target.value) : '';

/** Handles a form: gives what was typed into the field of that id. */
export const onEnter = (id: string, act: (typed: string) => void) => (event: SubmitEvent) => {
  event.preventDefault();
  const input = document.getElementById(id);
  if (input instanceof HTMLInputElement) act(input.value);
};
