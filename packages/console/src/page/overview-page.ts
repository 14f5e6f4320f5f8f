import { html, nothing, type TemplateResult } from 'lit-html';
import type { Overview } from './api.ts';
import { failingSection, figuresTemplate } from './overview-figures.ts';
import type { Section } from './overview-parts.ts';
import { approvalsSection, blockedSection, readDecisions, unknownSection } from './overview-people.ts';
import {
  circuitsSection,
  filesSection,
  hostsSection,
  lanesSection,
  replicasSection,
  storeSection,
  upstreamsSection,
  warningsSection,
} from './overview-states.ts';
import type { PageModel } from './page-model.ts';
import { folded, liveTemplate, outcomeMark, some, troubleBox } from './page-parts.ts';
import { routeLink } from './route.ts';
import type { Seen } from './seen.ts';
import { toVisibleName } from './visible-text.ts';

// In this order, by the name that an address has for each: what all else depends on first.
const SECTIONS: Readonly<Record<string, (page: PageModel, overview: Overview) => Section>> = {
  store: storeSection,
  replicas: replicasSection,
  failing: failingSection,
  circuits: circuitsSection,
  files: filesSection,
  hosts: hostsSection,
  upstreams: upstreamsSection,
  lanes: lanesSection,
  unknown: unknownSection,
  approvals: approvalsSection,
  blocked: blockedSection,
  warnings: warningsSection,
};

const OVERVIEWS = new WeakMap<Seen, Overview>();

/** The first page: what is wrong now, the figures of the last hour, and one line for all that is well. */
export const view = (page: PageModel): TemplateResult => {
  const overview = OVERVIEWS.get(page.seen);
  return html`<div class="row">
      <h2 id="page-title" tabindex="-1">Overview</h2>
      ${liveTemplate(page, 'Live.', 'Last change')}
      ${some(overview, ({ version }) => html`<span class="muted last">Version ${toVisibleName(version)}</span>`)}
    </div>
    ${troubleBox(page, page.seen.readTrouble)}
    ${some(overview, (read) => partsTemplate(page, read))}`;
};

export const read = (page: PageModel, signal: AbortSignal): void => {
  const { seen } = page;
  follow(page);
  const readListed = readDecisions(page, signal);
  let isAsked = seen.tools !== null;
  let latest: Overview;
  const take = (overview: Overview): void => {
    announceNew(page, OVERVIEWS.get(seen), overview);
    latest = overview;
    const show = (): unknown => OVERVIEWS.set(seen, latest);
    Object.assign(seen, {
      unknownCount: overview.unknown.total,
      waitingCount: overview.approvals.total,
      isCounted: true,
    });
    readListed(overview);
    if (isAsked || overview.figures.total.calls > 0) return void show();
    isAsked = true;
    // The command for a first call has one of them: shown with it, so that nothing moves when they come.
    void page.loadTools().then(() => show() && page.update({}));
  };
  void page.read<Overview>('overview', take, signal, { isStreamed: true });
};

type Named = readonly [name: string, section: Section];

const sectionsOf = (page: PageModel, overview: Overview): readonly Named[] =>
  Object.entries(SECTIONS).map(([name, make]) => [name, make(page, overview)]);

/** Says aloud what has become wrong since the reading before. */
const announceNew = (page: PageModel, before: Overview | undefined, now: Overview): void => {
  const sections = before === undefined ? [] : sectionsOf(page, before);
  const wasQuiet = new Set(sections.flatMap(([name, { isWrong }]) => (isWrong ? [] : name)));
  const added = sectionsOf(page, now).filter(([name, { isWrong }]) => isWrong && wasQuiet.has(name));
  if (added.length > 0)
    page.announce(`Wrong now: ${added.map(([, { title, line }]) => `${title}, ${line}`).join('; ')}.`);
};

/** One stream has all sections; what was refused is asked for again. */
export const follow = ({ route, opened, seen }: PageModel): boolean => {
  if (route.page === 'overview' && route.section !== null) opened.add(`section:${route.section}`);
  return seen.readTrouble === null;
};

// Each section keeps its place in both lists: no button is another's after the next reading.
const partsTemplate = (page: PageModel, overview: Overview): TemplateResult => {
  const sections = sectionsOf(page, overview);
  return html`${summaryTemplate(sections)}
    <div class="wrongs">${sections.map(([name, section]) => (section.isWrong ? wrongTemplate(name, section) : nothing))}</div>
    ${figuresTemplate(page, overview)}
    <section aria-labelledby="quiet-title">
      <h3 id="quiet-title">Without a finding</h3>
      ${sections.map(([name, section]) => (section.isWrong ? nothing : quietTemplate(page, name, section)))}
    </section>`;
};

const summaryTemplate = (sections: readonly Named[]): TemplateResult => {
  const wrong = sections.filter(([, { isWrong }]) => isWrong);
  if (wrong.length === 0) return html`<p class="summary">${outcomeMark('success', 'Nothing is wrong')}</p>`;
  return html`<ul class="row summary" aria-label="What is wrong">
    ${wrong.map(
      ([name, { title, line }]) => html`<li>
        <a class="mark failed" href=${routeLink({ overview: name })}><span aria-hidden="true">✕</span> ${title}: ${line}</a>
      </li>`,
    )}
  </ul>`;
};

const wrongTemplate = (name: string, { title, line, content }: Section): TemplateResult =>
  html`<section class="card wrong" data-part="overview-${name}" aria-labelledby="overview-${name}">
    <h3 class="row" id="overview-${name}" tabindex="-1">${title} <span class="mark failed">${line}</span></h3>
    ${content()}
  </section>`;

const quietTemplate = (page: PageModel, name: string, { title, line, content }: Section): TemplateResult =>
  html`<div id="overview-${name}" data-part="overview-${name}" tabindex="-1">
    ${folded(page, `section:${name}`, html`<span class="row"><b>${title}</b> <span class="muted">${line}</span></span>`, content)}
  </div>`;
