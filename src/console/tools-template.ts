import { html, nothing, type TemplateResult } from 'lit-html';
import { toJsonText } from './json-text.ts';
import { folded, longText, type Part, toDuration, troubleBox } from './small-templates.ts';
import { toolLink } from './state.ts';
import { findTools, type ToolDescription } from './tool-description.ts';
import { tryTemplate } from './try-template.ts';
import type { View } from './view.ts';
import { toVisibleExcerpt, toVisibleName } from './visible-text.ts';

/** The catalogue beside the tool that was chosen from it. */
export const toolsTemplate = (view: View, chosen: string | null): TemplateResult => {
  const { tools, toolsTrouble } = view.state;
  const tool = tools?.find(({ name }) => name === chosen);
  return html`<div class="columns">
    <section class="catalogue" aria-labelledby="tools-title">
      <h2 id="tools-title">Tools</h2>
      ${troubleBox(view, toolsTrouble)} ${tools === null ? loading(toolsTrouble !== null) : listTemplate(view, tools, chosen)}
    </section>
    <section class="tool" aria-labelledby="tool-title">
      ${tool === undefined ? emptyTemplate(tools, chosen) : toolTemplate(view, tool)}
    </section>
  </div>`;
};

// Thousands would make the browser slow at every key that is pressed.
const MAX_ENTRIES = 300;

const loading = (failed: boolean): Part => (failed ? nothing : html`<p class="muted">Loading…</p>`);

const listTemplate = (
  { state, act }: View,
  tools: readonly ToolDescription[],
  chosen: string | null,
): TemplateResult => {
  const found = findTools(tools, state.query);
  const search = ({ target }: Event): void => act.search(target instanceof HTMLInputElement ? target.value : '');
  return html`<div class="field">
      <label for="search">Search</label>
      <input id="search" type="search" spellcheck="false" autocomplete="off" .value=${state.query} @input=${search} />
    </div>
    <p class="muted" role="status">
      ${found.length === tools.length ? `${tools.length} tools` : `${found.length} of ${tools.length} tools`}
    </p>
    <ul class="names">
      ${found.slice(0, MAX_ENTRIES).map((tool) => entryTemplate(tool, tool.name === chosen))}
    </ul>
    ${found.length <= MAX_ENTRIES ? nothing : html`<p class="muted">The first ${MAX_ENTRIES} are listed. Search for the others.</p>`}
    <button type="button" class="quiet" @click=${() => act.loadTools()}>Reload</button>`;
};

const entryTemplate = ({ name, effects, available }: ToolDescription, isChosen: boolean): TemplateResult =>
  html`<li>
    <a href=${toolLink(name)} aria-current=${isChosen ? 'true' : nothing}>
      <span class="name">${toVisibleName(name)}</span>
      <span class="small">${toVisibleExcerpt(effects)}${available ? nothing : html`, <b>not available</b>`}</span>
    </a>
  </li>`;

const emptyTemplate = (tools: readonly ToolDescription[] | null, chosen: string | null): TemplateResult => {
  const isMissing = chosen !== null && tools !== null;
  return html`<h2 id="tool-title" tabindex="-1">${isMissing ? 'No such tool' : 'Choose a tool'}</h2>
    <p class="muted">
      ${
        isMissing
          ? `There is no tool called ${toVisibleName(chosen)}, or this key may not use it.`
          : 'Its schema and limits are shown here, with a form to try a call and read the result as a model does.'
      }
    </p>`;
};

const toolTemplate = (view: View, tool: ToolDescription): TemplateResult => {
  const { name } = tool;
  const schema = (of: string, content: object | null): Part =>
    content === null
      ? nothing
      : folded(view, `schema:${name}:${of}`, `${of} schema`, () =>
          longText(view, `schema:${name}:${of}:all`, toJsonText(content)),
        );
  return html`<h2 id="tool-title" class="name" tabindex="-1">${toVisibleName(name)}</h2>
    ${availabilityTemplate(tool)}
    <div class="description">${longText(view, `description:${name}`, tool.description)}</div>
    <dl class="facts">
      ${factsOf(tool).map(([term, fact]) => html`<div><dt>${term}</dt><dd>${fact}</dd></div>`)}
    </dl>
    ${schema('Input', tool.inputSchema)} ${schema('Output', tool.outputSchema)} ${tryTemplate(view, tool)}`;
};

const availabilityTemplate = ({ available, unavailableReason, outdatedReason }: ToolDescription): TemplateResult =>
  html`${available ? nothing : html`<p class="trouble"><strong>Not available.</strong> ${toVisibleExcerpt(unavailableReason)}</p>`}
  ${
    outdatedReason === ''
      ? nothing
      : html`<p class="notice"><strong>An older version serves.</strong> ${toVisibleExcerpt(outdatedReason)}</p>`
  }`;

const EFFECTS: ReadonlyMap<string, string> = new Map([
  ['read', 'read (changes nothing)'],
  ['idempotent', 'idempotent (twice is as once)'],
  ['write', 'write (not to be repeated blindly)'],
]);

const factsOf = ({ effects, limits, available, source }: ToolDescription): readonly (readonly [string, string])[] => [
  ['Effects', EFFECTS.get(effects) ?? toVisibleExcerpt(effects)],
  ['Available', available ? 'yes' : 'no'],
  ['Timeout', limits.timeoutMs === null ? 'none' : toDuration(limits.timeoutMs)],
  ['Retries', String(limits.retries ?? 'none')],
  ['At once', limits.concurrency === null ? 'no limit' : String(limits.concurrency)],
  ['Calls per session', limits.callsPerSession === null ? 'no limit' : String(limits.callsPerSession)],
  ['Source', toVisibleExcerpt(source)],
];
