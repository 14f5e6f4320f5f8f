import { html, nothing, type TemplateResult } from 'lit-html';
import type { ToolReports } from './api.ts';
import { copyButton } from './copy-button.ts';
import { toJsonText } from './json.ts';
import type { PageModel } from './page-model.ts';
import { moment, some, toCount, troubleBox } from './page-parts.ts';
import { routeLink } from './route.ts';
import { toVisibleName } from './visible-text.ts';
import { perVisit } from './visit.ts';

type ToolReport = ToolReports['tools'][number];

export const REPORTS_PATH = 'reports/tools';

const shownOf = perVisit((): { reports: ToolReports | null } => ({ reports: null }));

export const read = (page: PageModel, signal: AbortSignal): void => {
  const shown = shownOf(page);
  // A day of counts: once for each visit.
  if (shown.reports !== null) return;
  void page.readOnce<ToolReports>(REPORTS_PATH, (reports) => Object.assign(shown, { reports }), signal);
};

/** What models got wrong in the last day, tool by tool. */
export const view = (page: PageModel): TemplateResult => html`<section aria-labelledby="page-title">
  <h2 id="page-title" tabindex="-1">What models get wrong</h2>
  ${troubleBox(page, page.seen.readTrouble)}
  ${some(shownOf(page).reports, (reports) => reportsTemplate(page, reports))}
</section>`;

const reportsTemplate = (page: PageModel, reports: ToolReports): TemplateResult => {
  const { since, until, tools, unknown_names: names } = reports;
  const failing = tools.filter(({ failures }) => failures > 0);
  const quiet = tools.length - failing.length;
  return html`<p class="muted">From ${moment(since)} to ${moment(until)}. Counts only: no value of an argument is kept.
      ${copyButton(page, 'Copy as JSON', () => toJsonText(reports))}</p>
    ${failing.length > 0 ? nothing : html`<p class="notice">${tools.length === 0 ? 'No tool was called yet.' : 'No call has failed.'}</p>`}
    ${failing.map(
      (report) => html`<article class="card">
        <h3><a class="name" href=${routeLink({ tool: report.tool })}>${toVisibleName(report.tool)}</a></h3>
        ${reportTemplate(report)}
      </article>`,
    )}
    ${quiet === 0 ? nothing : html`<p class="muted">${quiet} other ${quiet === 1 ? 'tool was' : 'tools were'} called without a failure.</p>`}
    ${some(
      names,
      (all) => html`<h3>Names that no tool has</h3>
        <ul class="counts">
          ${all.map(
            ({ name, calls, nearest }) => html`<li>
              <b>${calls}×</b> <span class="name">${toVisibleName(name)}</span>
              ${some(nearest, (tool) => html`<span>perhaps <a class="name" href=${routeLink({ tool })}>${toVisibleName(tool)}</a></span>`)}
            </li>`,
          )}
        </ul>`,
    )}`;
};

/** The counts of one tool: its failures by code, and where its arguments were wrong. */
export const reportTemplate = ({
  tool,
  calls,
  failures,
  codes,
  arguments: wrong,
  recovered,
  gave_up: gaveUp,
}: ToolReport): TemplateResult => {
  const { sessions, mean_rounds: rounds } = recovered;
  return html`<p><b>${failures}</b> of ${calls} calls failed.
      ${sessions === 0 ? nothing : html`${toCount(sessions, 'session')} recovered${some(rounds, (mean) => `, after ${mean.toFixed(1)} rounds on average`)}.`}
      ${gaveUp === 0 ? nothing : html`<span class="mistake">In ${toCount(gaveUp, 'session')} it was blocked.</span>`}</p>
    <ul class="counts">
      ${codes.map(
        ({ code, fault, failures }) => html`<li>
          <b>${failures}×</b> <a href=${routeLink({ calls: '', tool, code })}><code>${code}</code></a> <span class="muted">${fault}</span>
        </li>`,
      )}
      ${wrong.map(
        ({ path, rule, failures }) => html`<li>
          <b>${failures}×</b> <code>${path === '' ? '(whole)' : toVisibleName(path)}</code> <span>${toVisibleName(rule)}</span>
        </li>`,
      )}
    </ul>`;
};
