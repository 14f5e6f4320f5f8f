import { html, nothing, type TemplateResult } from 'lit-html';
import type { FailedCall } from './api.ts';
import { SETTLE_LINK } from './calls-template.ts';
import { copyButton } from './copy-button.ts';
import { toJsonText } from './json.ts';
import { listPath } from './listing.ts';
import type { PageModel } from './page-model.ts';
import { ago, factList, longText, outcomeMark, some, toDuration, troubleBox } from './page-parts.ts';
import { routeLink } from './route.ts';
import { CODES } from './service-facts.ts';
import { shortHash } from './sessions-template.ts';
import { traceTemplate } from './trace-link.ts';
import { toVisibleName } from './visible-text.ts';
import { perVisit } from './visit.ts';

const shownOf = perVisit((): { call: FailedCall | null } => ({ call: null }));

export const read = (page: PageModel, signal: AbortSignal): void => {
  const shown = shownOf(page);
  const { route } = page;
  // What is on record does not change.
  if (route.page !== 'call' || shown.call !== null) return;
  const { reference, request, index } = route;
  const path = listPath(`calls/${encodeURIComponent(reference)}`, { request_id: request, index });
  void page.readOnce<FailedCall>(path, (call) => Object.assign(shown, { call }), signal);
};

/** One failed call: what the model read, what its code means, and where to look further. */
export const view = (page: PageModel): TemplateResult => {
  const { route } = page;
  const reference = route.page === 'call' ? route.reference : '';
  return html`<section aria-labelledby="page-title">
    <h2 id="page-title" tabindex="-1">Failed call <span class="name">${toVisibleName(reference)}</span></h2>
    ${troubleBox(page, page.seen.readTrouble)}
    ${page.seen.readTrouble?.status === 404 ? html`<p class="notice">${GONE}</p>` : nothing}
    ${some(shownOf(page).call, (call) => callTemplate(page, call))}
  </section>`;
};

const GONE =
  'The last 1,000 failures of 24 hours are kept. An older one is in the log alone: search it for the reference.';

const EXECUTED = {
  yes: 'yes: the tool ran',
  no: 'no: the tool did not run',
  maybe: 'maybe: it may have taken effect, look before it is repeated',
};

const callTemplate = (page: PageModel, call: FailedCall): TemplateResult => {
  const { tool, code, fault, reference, request_id: requestId, session } = call;
  return html`<div class="row">
      <a class="name" href=${routeLink({ tool })}>${toVisibleName(call.name ?? tool)}</a> ${outcomeMark(call.outcome)}
      <code>${code}</code> <span class="muted last">${ago(call.at)}</span>
    </div>
    <h3>What the model read</h3>
    ${longText(page, `call:${reference}`, call.message)}
    ${some(CODES[code], (when) => html`<h3>What <code>${code}</code> means</h3><p>${when}</p>`)}
    ${factList([
      ['Fault', fault],
      ['Executed', EXECUTED[call.executed]],
      ['Duration', toDuration(call.duration_ms)],
      ['Key', call.key === null ? 'none' : html`<code>${toVisibleName(call.key)}</code>`],
      ['Replica', html`<code>${toVisibleName(call.replica)}</code>`],
      ['Request', html`<code>${toVisibleName(requestId)}</code>, call ${call.index}`],
    ])}
    <h3>Look further</h3>
    <ul class="links">
      ${some(session, (hash) => html`<li><a href=${routeLink({ session: `~${hash}` })}>Session ${shortHash(hash)}</a></li>`)}
      <li><a href=${routeLink({ tool })}>Tool ${toVisibleName(tool)}</a></li>
      ${call.outcome === 'unknown' ? html`<li>${SETTLE_LINK}</li>` : nothing}
      <li><a href=${routeLink({ calls: '', tool, code })}>All ${code} of ${toVisibleName(tool)}</a></li>
      <li><a href=${routeLink({ search: requestId })}>Everything of this request</a></li>
      ${some(call.trace_id, (id) => html`<li>${traceTemplate(id)}</li>`)}
      <li>In the log of <code>${toVisibleName(call.replica)}</code>: <code>${grepOf(call)}</code> ${copyButton(page, 'Copy command', () => grepOf(call))}</li>
    </ul>
    ${copyButton(page, 'Copy as JSON', () => toJsonText(call))}`;
};

// A reference has no characters of a shell, unless an answer is not from this service.
const grepOf = ({ reference }: FailedCall): string => `grep '${reference.replace(/[^\w-]/g, '')}'`;
