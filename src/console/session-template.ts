import { html, nothing, type TemplateResult } from 'lit-html';
import { isAddressable } from './call-service.ts';
import { toJsonText } from './json-text.ts';
import type { Session, SessionTool } from './session.ts';
import { folded, longText, moment, type Part, troubleBox } from './small-templates.ts';
import { sessionLink } from './state.ts';
import { timelineTemplate } from './timeline-template.ts';
import type { View } from './view.ts';
import { toVisible, toVisibleName } from './visible-text.ts';

/** One session, live: its budgets, streaks and slices, and what was called. */
export const sessionTemplate = (view: View, id: string): TemplateResult => {
  const { session, sessionTrouble } = view.state;
  return html`<section class="session" aria-labelledby="session-title">
    <h2 id="session-title" tabindex="-1">${id === '' ? 'Watch a session' : html`Session <span class="name">${toVisibleName(id)}</span>`}</h2>
    ${chooseTemplate(id)} ${id === '' || isAddressable(id) ? nothing : html`<p class="notice">No path can name this id.</p>`}
    ${isAddressable(id) ? liveTemplate(view) : nothing} ${troubleBox(view, sessionTrouble)}
    ${session === null ? nothing : viewTemplate(view, session)}
  </section>`;
};

const chooseTemplate = (id: string): TemplateResult => {
  const choose = (event: SubmitEvent): void => {
    event.preventDefault();
    const input = document.getElementById('session-id');
    if (input instanceof HTMLInputElement && input.value !== '') location.hash = sessionLink(input.value);
  };
  return html`<form class="choose" autocomplete="off" @submit=${choose}>
    <label for="session-id">Session id</label>
    <div class="row">
      <input id="session-id" spellcheck="false" maxlength="512" .value=${id} />
      <button class="primary">Watch</button>
    </div>
  </form>`;
};

const liveTemplate = ({ state, act }: View): TemplateResult => {
  const isLive = state.polling === 'live';
  return html`<div class="live">
    <button type="button" class="quiet pause" @click=${() => act.setPolling(isLive ? 'paused' : 'live')}>
      ${isLive ? 'Pause' : 'Resume'}
    </button>
    <span class="muted">
      ${isLive ? 'Live: read every 2 s.' : 'Paused.'} ${state.readAt === '' ? nothing : html`Last read ${moment(state.readAt)}.`}
    </span>
  </div>`;
};

const viewTemplate = (view: View, session: Session): TemplateResult => {
  const isEmpty = session.tools.length === 0 && session.journal.length === 0;
  return html`${isEmpty ? html`<p class="notice">Nothing is kept of this session: it was never seen, or has ended.</p>` : nothing}
    <dl class="facts">
      ${factsOf(session).map(([term, fact]) => html`<div><dt>${term}</dt><dd>${fact}</dd></div>`)}
    </dl>
    <h3>Budgets</h3>
    ${
      session.tools.length === 0
        ? html`<p class="muted">No tool has a budget, a streak or a count yet.</p>`
        : html`<ul class="budgets">${session.tools.map((tool) => budgetTemplate(view, tool))}</ul>`
    }
    <div class="actions">
      <button type="button" @click=${view.act.resetAll}>Reset all budgets</button>
      <button type="button" class="danger" @click=${view.act.endSession}>End session</button>
    </div>
    <h3>Calls</h3>
    ${timelineTemplate(view, session.journal)} ${slicesTemplate(view, session)}`;
};

const ofLimit = (count: number, limit: number | null): string => (limit === null ? `${count}` : `${count} of ${limit}`);

const factsOf = (session: Session): readonly (readonly [string, string])[] => [
  ['Rounds', ofLimit(session.rounds, session.maxRounds)],
  ['Calls run', ofLimit(session.calls, session.maxCalls)],
  ['Retries', ofLimit(session.retriesUsed, session.retriesLimit)],
  ['Kept in', toVisible(session.mode)],
];

const stateOf = ({ exhausted, failing }: SessionTool): TemplateResult => {
  if (exhausted) return html`<span class="mark failed"><span aria-hidden="true">✕</span> blocked</span>`;
  if (failing) return html`<span class="mark retry"><span aria-hidden="true">↻</span> failing</span>`;
  return html`<span class="mark success"><span aria-hidden="true">✓</span> free</span>`;
};

const budgetTemplate = (view: View, tool: SessionTool): TemplateResult => {
  const name = toVisibleName(tool.name);
  return html`<li>
    <div class="head">
      <span class="name">${name}</span> ${stateOf(tool)}
      ${
        isAddressable(tool.name)
          ? html`<button type="button" class="quiet reset" aria-label="Reset ${name}" @click=${() => view.act.resetTool(tool.name)}>
              Reset
            </button>`
          : nothing
      }
    </div>
    <div class="meter">
      <meter min="0" max=${Math.max(tool.limit, 1)} .value=${tool.used} aria-label="Retries used by ${name}"></meter>
      <span>${tool.used} of ${tool.limit} retries used${tool.running > 0 ? `, ${tool.running} running` : ''}</span>
    </div>
    <p class="muted">${streaksOf(tool)}</p>
    ${tool.lastError === '' ? nothing : longText(view, `error:${tool.name}`, tool.lastError)}
  </li>`;
};

const streaksOf = ({ failedStreak, sameAnswerStreak, calls, maxCalls }: SessionTool): string => {
  const counted = calls === null ? [] : [`${ofLimit(calls, maxCalls)} calls`];
  const failed = failedStreak === 0 ? [] : [`same call failed ${failedStreak}× in a row`];
  const same = sameAnswerStreak === 0 ? [] : [`same answer ${sameAnswerStreak}× in a row`];
  return [...counted, ...failed, ...same].join(' · ');
};

const slicesTemplate = (view: View, { slices, sliceErrors }: Session): Part => {
  if (slices.length + sliceErrors.length === 0) return nothing;
  return html`<h3>Slices</h3>
    ${sliceErrors.map(
      ([name, why]) => html`<p class="trouble"><strong>${toVisibleName(name)}</strong> ${toVisible(why)}</p>`,
    )}
    ${slices.map(([name, slice]) =>
      folded(view, `slice:${name}`, toVisibleName(name), () => longText(view, `slice:${name}:all`, toJsonText(slice))),
    )}`;
};
