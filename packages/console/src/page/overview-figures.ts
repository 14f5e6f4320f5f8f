import { html, nothing, type TemplateResult } from 'lit-html';
import { type Overview, toAddress } from './api.ts';
import { isHarmless } from './attempt.ts';
import { chartTemplate } from './chart.ts';
import { copyButton } from './copy-button.ts';
import { exampleText, toCallBody, toCurl } from './curl.ts';
import { namesOf, type Section, scrolled } from './overview-parts.ts';
import type { PageModel } from './page-model.ts';
import { folded, longText, moment, some, toAge, toCount, toDuration, toNumber } from './page-parts.ts';
import { routeLink } from './route.ts';
import { toVisibleExcerpt, toVisibleName } from './visible-text.ts';

type Hour = Overview['figures'];
type Failure = Hour['failures'][number];

const toShare = (part: number, whole: number): string =>
  whole === 0 ? '–' : `${Math.round((part / whole) * 1000) / 10}%`;
const toMs = (ms: number | null): string => (ms === null ? '–' : toDuration(ms));

/** What has failed within the last five minutes, and since when. */
export const failingSection = (_page: PageModel, { at, figures }: Overview): Section => {
  const now = figures.failures.filter(({ is_now: isNow }) => isNow);
  return {
    isWrong: now.length > 0,
    title: 'Fails now',
    line: now.length === 0 ? 'no call has failed in the last five minutes' : namesOf(now.map(({ tool }) => tool)),
    content: () => html`<ul class="findings">${now.map((failure) => failureTemplate(failure, Date.parse(at)))}</ul>`,
  };
};

const failureTemplate = (failure: Failure, now: number): TemplateResult => {
  const { tool, code, fault, failures, since, last_at: last, message, reference } = failure;
  return html`<li>
    <div class="row">
      <span class="name strong">${toVisibleName(tool)}</span> <code>${code}</code> <span class="muted">fault: ${fault}</span>
      <span><b>${toNumber(failures)}</b> in the last hour</span>
      <span>for ${toAge(now - Date.parse(since))}, since ${moment(since)}</span>
      <span class="muted">last ${moment(last)}</span>
    </div>
    ${some(message, (text) => html`<p class="message">${toVisibleExcerpt(text)}</p>`)}
    <p class="row">
      <a href=${routeLink({ calls: '', tool, code })} aria-label="Its calls: ${toVisibleName(tool)}, ${code}">Its calls</a>
      ${some(reference, (one) => html`<a href=${routeLink({ call: one })} aria-label="The last one: ${toVisibleName(tool)}, ${code}">The last one</a>`)}
    </p>
  </li>`;
};

/** The last hour: charts, and what it was made of. */
export const figuresTemplate = (page: PageModel, { figures }: Overview): TemplateResult =>
  html`<section aria-labelledby="hour-title">
    <h3 id="hour-title">The last hour</h3>
    ${figures.total.calls === 0 ? firstCallTemplate(page) : hourTemplate(page, figures)}
  </section>`;

const hourTemplate = (page: PageModel, figures: Hour): TemplateResult => {
  const { minutes, total, failures } = figures;
  return html`<div class="tiles">${tilesOf(figures)}</div>
    ${folded(page, 'hour:minutes', 'Minute by minute', () => minutesTable(minutes))}
    ${toolsTable(figures)}
    ${failures.length === 0 ? nothing : failuresTable(figures)}
    ${some(
      Object.entries(figures.faults).filter(([, count]) => count > 0),
      (faults) => html`<p class="row">
        <span class="muted">By fault</span>
        ${faults.map(([fault, count]) => html`<span>${toVisibleName(fault)} <b>${toNumber(count)}</b> <span class="muted">${toShare(count, total.failures)}</span></span>`)}
      </p>`,
    )}`;
};

const tilesOf = ({ minutes, total }: Hour): readonly TemplateResult[] => {
  const calls = minutes.map((minute) => minute.calls);
  const failed = minutes.map((minute) => minute.failures);
  const p50 = minutes.map((minute) => minute.p50_ms);
  const p95 = minutes.map((minute) => minute.p95_ms);
  const now = minutes.at(-2) ?? minutes.at(-1);
  const most = (values: readonly (number | null)[]): number => Math.max(0, ...values.map((value) => value ?? 0));
  const bars = (look: string, label: string, values: readonly number[]) =>
    chartTemplate('bars', `${label} a minute: ${values.at(-2) ?? 0} in the last one, at most ${most(values)}`, [
      { look, values },
    ]);
  return [
    tile('Calls', toNumber(total.calls), `${now?.calls ?? 0} in the last full minute`, bars('all', 'Calls', calls)),
    tile(
      'Failures',
      toNumber(total.failures),
      `${toShare(total.failures, total.calls)} of all`,
      bars('bad', 'Failures', failed),
    ),
    tile(
      'Duration p95',
      toMs(total.p95_ms),
      `p50 ${toMs(total.p50_ms)}`,
      chartTemplate('lines', `Durations: p95 at most ${toMs(most(p95))}, p50 at most ${toMs(most(p50))}`, [
        { look: 'soft', values: p50 },
        { look: 'all', values: p95 },
      ]),
    ),
  ];
};

const tile = (label: string, figure: string, about: string, chart: TemplateResult): TemplateResult =>
  html`<div class="card tile">
    <div class="row"><span class="muted">${label}</span> <span class="figure">${figure}</span> <span class="muted last">${about}</span></div>
    ${chart}
    <div class="row muted axis"><span>60 min ago</span><span class="last">now</span></div>
  </div>`;

const minutesTable = (minutes: Hour['minutes']): TemplateResult =>
  scrolled(
    'Minutes',
    ['Minute', 'Calls', 'Failures', 'p50', 'p95'],
    minutes
      .toReversed()
      .map(({ at, calls, failures, p50_ms: p50, p95_ms: p95 }) => [
        moment(at),
        toNumber(calls),
        toNumber(failures),
        toMs(p50),
        toMs(p95),
      ]),
  );

const toolsTable = ({ tools, more_tools: more }: Hour): TemplateResult => {
  const rows = tools.map((figures) => {
    const { tool, calls, failures, p50_ms: p50, p95_ms: p95 } = figures;
    const name = toVisibleName(tool);
    return [
      html`<a class="name" href=${routeLink({ tool })}>${name}</a>`,
      toNumber(calls),
      failures === 0
        ? '0'
        : html`<a href=${routeLink({ calls: '', tool })} aria-label="${toCount(failures, 'failure')} of ${name}"><b>${toNumber(failures)}</b></a>`,
      toShare(failures, calls),
      toMs(p50),
      toMs(p95),
      chartTemplate('bars', `Calls of ${name} a minute`, [
        { look: 'all', values: figures.calls_by_minute },
        { look: 'bad', values: figures.failures_by_minute },
      ]),
    ];
  });
  return html`<h4>By tool</h4>
    ${scrolled('By tool', ['Tool', 'Calls', 'Failures', 'Share', 'p50', 'p95', 'Calls and failures'], rows)}
    ${more === 0 ? nothing : html`<p class="muted">${toCount(more, 'more tool was', 'more tools were')} called.</p>`}`;
};

const failuresTable = ({ failures }: Hour): TemplateResult => {
  const rows = failures.map(({ tool, code, fault, failures: count, last_at: last }) => [
    html`<code>${code}</code>`,
    html`<span class="name">${toVisibleName(tool)}</span>`,
    fault,
    html`<a href=${routeLink({ calls: '', tool, code })} aria-label="${toCount(count, 'failure')} of ${toVisibleName(tool)} with ${code}"><b>${toNumber(count)}</b></a>`,
    moment(last),
  ]);
  return html`<h4>By code</h4>
    ${scrolled('By code', ['Code', 'Tool', 'Fault', 'Failures', 'Last'], rows)}`;
};

const firstCallTemplate = (page: PageModel): TemplateResult => {
  const tools = page.seen.tools?.filter(({ available }) => available) ?? null;
  const tool = tools?.find(isHarmless) ?? tools?.[0];
  if (tool === undefined)
    return html`<p class="notice">No call in the last hour. ${tools === null ? nothing : 'No tool is offered that could be called.'}</p>`;
  const command = toCurl(toCallBody(tool.name, exampleText(tool.input_schema)), page.key, toAddress('tool-calls'));
  return html`<div class="notice">
    <p>No call in the last hour. Send one:</p>
    ${longText(page, 'first-call', command)}
    ${copyButton(page, 'Copy', () => command)}
    <span class="muted">Or choose one of the <a href="#tools">tools</a> and try it there.</span>
  </div>`;
};
