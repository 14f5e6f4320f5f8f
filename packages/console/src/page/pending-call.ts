import { html, nothing, type TemplateResult } from 'lit-html';
import type { Answer, CallResult } from './answers.ts';
import { toVisible, toVisibleExcerpt } from './visible-text.ts';

// A call that outlives its request: what is shown of it until its result is there.

/** Asks for a tool to be called this way: calls that end within a second are answered as any other. */
export const toPreference = (background: string): Readonly<Record<string, string>> =>
  background === '' ? {} : { prefer: 'respond-async, wait=1' };

export const toResultsPath = (requestId: string): string => `tool-calls/${encodeURIComponent(requestId)}`;

const PAUSE_MS = 2_000;

type Following = {
  /** Asks for the results as they are after a wait. */
  readonly ask: () => Promise<Answer>;
  /** Shows what was answered; tells whether the call is still pending and somebody still looks at it. */
  readonly show: (answer: Exclude<Answer, { readonly kind: 'aborted' }>) => boolean;
};

/** Reads a pending call until it has ended. What may pass is asked again after a pause. */
export const followPending = async ({ ask, show }: Following): Promise<void> => {
  for (;;) {
    const answer = await ask();
    if (answer.kind === 'aborted') return;
    if (mayPass(answer)) await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    else if (!show(answer)) return;
  }
};

const mayPass = (answer: Answer): boolean =>
  answer.kind === 'unreachable' || (answer.kind === 'refused' && (answer.status >= 500 || answer.status === 429));

/** The state and the progress of a call that has not ended, and a button that ends it. */
export const pendingTemplate = ({ pending }: CallResult, cancel: () => void): Part => {
  if (pending === null) return nothing;
  return html`<p class="pending" role="status">
    <b>${toVisible(pending.state.replaceAll('_', ' '))}</b> ${progressTemplate(pending)}
    <button type="button" class="quiet" @click=${cancel}>Cancel the call</button>
  </p>`;
};

type Part = TemplateResult | typeof nothing;

const progressTemplate = ({ done, total, message }: NonNullable<CallResult['pending']>): Part => {
  const count = done === null ? '' : `${done}${total === null ? '' : ` of ${total}`}`;
  return count === '' && message === ''
    ? nothing
    : html`<span>${count} ${message === '' ? nothing : toVisibleExcerpt(message)}</span>`;
};
