import { html, nothing, type TemplateResult } from 'lit-html';
import { mayPass, type Overview, type ToolReports } from './api.ts';
import type { PageModel } from './page-model.ts';
import { ago, briefOf, some, toLeft } from './page-parts.ts';
import { REPORTS_PATH, reportTemplate } from './reports-template.ts';
import { routeLink } from './route.ts';
import { toVisible, toVisibleName } from './visible-text.ts';
import { perVisit } from './visit.ts';

type Circuit = Overview['circuits'][number];

const READ_EVERY_MS = 10_000;

const historyOf = perVisit((): { overview: Overview | null; reports: ToolReports | null } => ({
  overview: null,
  reports: null,
}));

/** Reads what is known of how tools fail. A key without `read` sees the tools without it. */
export const readHistory = (page: PageModel, signal: AbortSignal): void => {
  const history = historyOf(page);
  const readOverview = async (): Promise<void> => {
    const answer = signal.aborted ? null : await page.ask<Overview>({ path: 'overview', signal });
    if (answer === null || (answer.trouble && !mayPass(answer.trouble))) return;
    if (answer.trouble === null) history.overview = answer.body;
    page.update({});
    setTimeout(() => void readOverview(), READ_EVERY_MS);
  };
  const readReports = async (): Promise<void> => {
    const answer = await page.ask<ToolReports>({ path: REPORTS_PATH, signal });
    if (answer === null || answer.trouble !== null) return;
    history.reports = answer.body;
    page.update({});
  };
  void readOverview();
  if (history.reports === null) void readReports();
};

/** The circuit that keeps a tool from being called; undefined where it is closed, or nobody knows. */
export const findCircuit = (page: PageModel, tool: string): Circuit | undefined =>
  historyOf(page).overview?.circuits.find(({ tools }) => tools.includes(tool));

export const circuitTemplate = (circuit: Circuit): TemplateResult => {
  const { opened_at: openedAt, open_until: until, failure, state } = circuit;
  const left = Date.parse(until) - Date.now();
  return html`<div class="trouble">
    <strong>The circuit is ${state === 'open' ? 'open' : 'half open'}:</strong> its calls are refused since ${ago(openedAt)}.
    ${left > 0 ? html`One is tried in <span class="left">${toLeft(left)}</span>.` : 'The next one is tried.'}
    ${some(
      failure,
      ({ code, message, at }) => html`<p>Opened by <code>${code}</code> ${ago(at)}:</p>
        <pre class="text">${toVisible(briefOf(message))}</pre>`,
    )}
    <p><a href="#overview=circuits">All circuits</a></p>
  </div>`;
};

/** How a tool failed in the last hour, and what models get wrong in its arguments. */
export const historyTemplate = (page: PageModel, tool: string): unknown => {
  const { overview, reports } = historyOf(page);
  const failures = overview?.figures.failures.filter((failure) => failure.tool === tool) ?? [];
  const report = reports?.tools.find((report) => report.tool === tool);
  return html`${some(
    failures,
    (all) => html`<h3>Failures of the last hour</h3>
      <ul class="counts">
        ${all.map(
          ({ code, failures, since, is_now: isNow, message, reference }) => html`<li>
            <b>${failures}×</b> <a href=${routeLink({ calls: '', tool, code, since: '1h' })}><code>${code}</code></a>
            <span class=${isNow ? 'mistake' : 'muted'}>${isNow ? 'fails now, ' : ''}since ${ago(since)}</span>
            <a href=${routeLink({ call: reference })}>The last one</a>
            <p class="brief">${toVisible(briefOf(message))}</p>
          </li>`,
        )}
      </ul>`,
  )}
  ${
    report === undefined || report.failures === 0
      ? nothing
      : html`<h3>What models get wrong</h3>${reportTemplate(report)}<p><a href="#reports" aria-label="What models get wrong with all tools, not only ${toVisibleName(tool)}">All tools</a></p>`
  }`;
};
