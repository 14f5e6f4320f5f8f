import { html, nothing, type TemplateResult } from 'lit-html';
import type { ToolDescription } from './api.ts';
import type { PageModel } from './page-model.ts';
import { fieldBox, some, troubleBox, typedIn } from './page-parts.ts';
import { routeLink } from './route.ts';
import { groupTools, type ToolGroup } from './tool-groups.ts';
import { readHistory } from './tool-history.ts';
import { toolTemplate } from './tool-template.ts';
import { toVisibleName } from './visible-text.ts';

/** The catalogue beside the tool that was chosen from it. */
export const view = (page: PageModel): TemplateResult => {
  const { tools, toolsTrouble } = page.seen;
  const chosen = page.route.page === 'tools' ? page.route.tool : null;
  const tool = tools?.find(({ name }) => name === chosen);
  return html`<div class=${`columns${chosen === null ? '' : ' chosen'}`}>
    <section class="catalogue" aria-labelledby="tools-title">
      <h2 id="tools-title">Tools</h2>
      <a class="back" href="#tools">All tools</a> ${troubleBox(page, toolsTrouble)} ${some(tools, (all) => listTemplate(page, all, chosen))}
    </section>
    <section aria-labelledby="tool-title">
      ${tool === undefined ? emptyTemplate(tools === null ? null : chosen) : toolTemplate(page, tool)}
    </section>
  </div>`;
};

export const read = (page: PageModel, signal: AbortSignal): void => {
  void page.loadTools();
  if (page.route.page === 'tools' && page.route.tool !== null) readHistory(page, signal);
};

const emptyTemplate = (missing: string | null): TemplateResult =>
  html`<h2 id="tool-title" tabindex="-1">${missing === null ? 'Choose a tool' : 'No such tool'}</h2>
    <p class="muted">
      ${
        missing === null
          ? 'This page then shows its schema and limits, and a form to call it and read the result that a model gets.'
          : `There is no tool called ${toVisibleName(missing)}, or this key may not use it.`
      }
    </p>`;

// Thousands would make the browser slow at every key that is pressed.
const MAX_ENTRIES = 300;

/** The tools in whose name, description or source every word of the query occurs. */
const listTemplate = (page: PageModel, tools: readonly ToolDescription[], chosen: string | null): TemplateResult => {
  const words = page.query.toLowerCase().split(/\s+/);
  const found = tools.filter(({ name, description, source }) => {
    const text = `${name} ${description} ${source}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  const search = html`<input id="search" type="search" spellcheck="false" autocomplete="off" .value=${page.query}
    @input=${(event: Event) => page.update({ query: typedIn(event) })} />`;
  return html`${fieldBox('search', 'Search', search, nothing)}
    <p class="muted" role="status">
      ${found.length === tools.length ? `${tools.length} tools` : `${found.length} of ${tools.length} tools`}
    </p>
    <div class="names">${groupTools(found.slice(0, MAX_ENTRIES)).map((group) => groupTemplate(group, chosen))}</div>
    ${found.length <= MAX_ENTRIES ? nothing : html`<p class="muted">Only the first ${MAX_ENTRIES} are listed. Search for the others.</p>`}
    <button type="button" class="quiet" @click=${() => page.loadTools()}>Reload</button>`;
};

const MAX_TITLE = 60;

// What all names of a group begin with stands once above them; a screen reader, and who copies a name, gets all of it.
const groupTemplate = ({ title, prefix, tools }: ToolGroup, chosen: string | null): TemplateResult => {
  const shown = toVisibleName(prefix);
  return html`<h3>${toVisibleName(title.slice(0, MAX_TITLE))} ${prefix === '' ? nothing : html`<span class="muted name">${shown}…</span>`}</h3>
    <ul>
      ${tools.map(
        ({ name, effects, available }) => html`<li>
          <a href=${routeLink({ tool: name })} aria-current=${name === chosen ? 'true' : nothing}>
            <span class="name"><span class="prefix">${shown}</span>${toVisibleName(name.slice(prefix.length))}</span>
            <span class="muted">${effects}${available ? nothing : html`, <b>not available</b>`}</span>
          </a>
        </li>`,
      )}
    </ul>`;
};
