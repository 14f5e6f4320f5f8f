import { html, nothing, type TemplateResult } from 'lit-html';
import type { ToolDescription } from './api.ts';
import { isHarmless } from './attempt.ts';
import { fieldsTemplate } from './fields-template.ts';
import { buildFields, MAX_FIELDS } from './form-field.ts';
import { isRecord, type JsonPath, oncePerObject, parseJson, toJsonText } from './json.ts';
import type { PageModel } from './page-model.ts';
import { factList, fieldBox, folded, longText, some, toDuration, troubleBox, typedIn } from './page-parts.ts';
import { attemptTemplate } from './result-template.ts';
import { routeLink } from './route.ts';
import { toVisibleExcerpt, toVisibleName } from './visible-text.ts';

/** The catalogue beside the tool that was chosen from it. */
export const view = (page: PageModel): TemplateResult => {
  const { tools, toolsTrouble } = page.seen;
  const chosen = page.route.page === 'tools' ? page.route.tool : null;
  const tool = tools?.find(({ name }) => name === chosen);
  return html`<div class="columns">
    <section class="catalogue" aria-labelledby="tools-title">
      <h2 id="tools-title">Tools</h2>
      ${troubleBox(page, toolsTrouble)} ${some(tools, (all) => listTemplate(page, all, chosen))}
    </section>
    <section aria-labelledby="tool-title">
      ${tool === undefined ? emptyTemplate(tools === null ? null : chosen) : toolTemplate(page, tool)}
    </section>
  </div>`;
};

export const read = (page: PageModel): void => {
  if (page.seen.tools === null) void page.loadTools();
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
    <ul class="names">
      ${found.slice(0, MAX_ENTRIES).map(
        ({ name, effects, available }) => html`<li>
          <a href=${routeLink({ tool: name })} aria-current=${name === chosen ? 'true' : nothing}>
            <span class="name">${toVisibleName(name)}</span>
            <span class="muted">${effects}${available ? nothing : html`, <b>not available</b>`}</span>
          </a>
        </li>`,
      )}
    </ul>
    ${found.length <= MAX_ENTRIES ? nothing : html`<p class="muted">Only the first ${MAX_ENTRIES} are listed. Search for the others.</p>`}
    <button type="button" class="quiet" @click=${() => page.loadTools()}>Reload</button>`;
};

const EFFECTS = {
  read: 'read (changes nothing)',
  idempotent: 'idempotent (repeating has no further effect)',
  write: 'write (check before repeating)',
};

const toolTemplate = (page: PageModel, tool: ToolDescription): TemplateResult => {
  const { name, limits, available } = tool;
  // A reason may show the source, with a mark under the place: its lines stay.
  const reason = (kind: string, text: string | null): unknown =>
    some(text, (why) => longText(page, `${kind}:${name}`, why));
  const schema = (of: string, content: object | null): unknown =>
    some(content, (content) =>
      folded(page, `schema:${name}:${of}`, `${of} schema`, () =>
        longText(page, `schema:${name}:${of}:all`, toJsonText(content)),
      ),
    );
  return html`<h2 id="tool-title" tabindex="-1"><span class="name">${toVisibleName(name)}</span></h2>
    ${available ? nothing : html`<div class="trouble"><strong>Not available.</strong> ${reason('unavailable', tool.unavailable_reason)}</div>`}
    ${some(tool.outdated_reason, (why) => html`<div class="notice"><strong>An older version is in use.</strong> ${reason('outdated', why)}</div>`)}
    <div class="description">${longText(page, `description:${name}`, tool.description)}</div>
    ${factList([
      ['Effects', EFFECTS[tool.effects]],
      ['Available', available ? 'yes' : 'no'],
      ['Timeout', toDuration(limits.timeout_ms)],
      ['Retries', limits.retries],
      ['Concurrent calls', limits.concurrency ?? 'no limit'],
      ['Calls per session', limits.max_calls_per_session ?? 'no limit'],
      ['Source', toVisibleExcerpt(tool.source)],
    ])}
    ${schema('Input', tool.input_schema)} ${schema('Output', tool.output_schema)} ${tryTemplate(page, tool)}`;
};

/** A form for one call of a tool, the same as JSON, and what came of it. */
const tryTemplate = (page: PageModel, tool: ToolDescription): TemplateResult => {
  const { text, attempt } = page.draftOf(tool.name);
  const submit = (event: Event): void => {
    event.preventDefault();
    page.send(tool);
  };
  const sendByKey = (event: KeyboardEvent): void => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) submit(event);
  };
  const json = html`<textarea id="arguments" rows="4" spellcheck="false" aria-describedby="arguments-about"
    .value=${text} @input=${(event: Event) => page.editText(tool.name, typedIn(event))}></textarea>`;
  return html`<section aria-labelledby="try-title">
    <h3 id="try-title">Try a call</h3>
    <form class="try" novalidate autocomplete="off" @submit=${submit} @keydown=${sendByKey}>
      ${formTemplate(page, tool, text)}
      ${fieldBox('arguments', 'Arguments as JSON', json, 'Sent exactly as written, even if it is not JSON: models do that as well.')}
      <div class="row">${OPTIONS.map(([name, label, about]) => optionTemplate(page, name, label, about))}</div>
      <div class="row">
        <button class="primary" ?disabled=${attempt !== null && attempt.answer === null}>Send</button>
        <span class="muted">${aboutSending(tool)}</span>
      </div>
    </form>
    ${some(attempt, (last) => attemptTemplate(page, tool.name, last))}
  </section>`;
};

const fieldsOf = oncePerObject(buildFields);

const formTemplate = (page: PageModel, tool: ToolDescription, text: string): TemplateResult => {
  const { fields, left } = fieldsOf(tool.input_schema);
  if (fields.length === 0) return html`<p class="muted">The schema has no parameters.</p>`;
  const parsed = parseJson(text);
  const root = 'value' in parsed ? parsed.value : null;
  if (!isRecord(root)) {
    const why = 'why' in parsed ? parsed.why : 'Arguments must be one object.';
    return html`<p class="notice">The form is disabled until the JSON below is an object. <span class="muted">${why}</span></p>`;
  }
  const change = (path: JsonPath, value: unknown): void => page.editValue(tool.name, path, value);
  return html`${fieldsTemplate({ root, change, room: { left: MAX_FIELDS } }, fields, [], 'field')}
  ${left === 0 ? nothing : html`<p class="notice">${left} more parameters have no field here: enter them in the JSON below.</p>`}`;
};

const OPTIONS = [
  ['sessionId', 'Session id', 'Optional. Budgets are kept per session.'],
  ['idempotencyKey', 'Idempotency key', 'Optional. A repeat with the same key returns the stored answer.'],
  ['timeoutMs', 'Timeout (ms)', "Optional. Can only shorten the tool's own limit."],
] as const;

const optionTemplate = (page: PageModel, name: keyof PageModel['options'], label: string, about: string) => {
  const id = `option-${name}`;
  const control = html`<input id=${id} spellcheck="false" aria-describedby=${`${id}-about`}
    .value=${page.options[name]} @input=${(event: Event) => page.update({ options: { ...page.options, [name]: typedIn(event) } })} />`;
  return fieldBox(id, label, control, about);
};

const aboutSending = (tool: ToolDescription): string => {
  if (!tool.available) return 'This tool is not available now: a call will fail.';
  return isHarmless(tool) ? '' : 'You must confirm before it runs: its effect may be permanent.';
};
