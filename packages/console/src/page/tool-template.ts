import { html, nothing, type TemplateResult } from 'lit-html';
import { type ToolDescription, toAddress } from './api.ts';
import { isHarmless } from './attempt.ts';
import { copyButton } from './copy-button.ts';
import { exampleText, toCallBody, toCurl } from './curl.ts';
import { fieldsTemplate } from './fields-template.ts';
import { buildFields, MAX_FIELDS } from './form-field.ts';
import { indentJson, isRecord, type JsonPath, oncePerObject, parseJson, toJsonText } from './json.ts';
import type { PageModel } from './page-model.ts';
import { factList, fieldBox, folded, longText, some, toDuration, typedIn } from './page-parts.ts';
import { attemptTemplate } from './result-template.ts';
import { circuitTemplate, findCircuit, historyTemplate } from './tool-history.ts';
import { toVisibleExcerpt, toVisibleName } from './visible-text.ts';

const EFFECTS = {
  read: 'read (changes nothing)',
  idempotent: 'idempotent (repeating has no further effect)',
  write: 'write (check before repeating)',
};

/** One tool: whether it can be called, what it does, how it fails, and a form to try it. */
export const toolTemplate = (page: PageModel, tool: ToolDescription): TemplateResult => {
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
  const circuit = findCircuit(page, name);
  const availability =
    available && circuit !== undefined ? html`<b class="failed">no: its circuit is open</b>` : available ? 'yes' : 'no';
  return html`<h2 id="tool-title" tabindex="-1"><span class="name">${toVisibleName(name)}</span></h2>
    ${available ? nothing : html`<div class="trouble"><strong>Not available.</strong> ${reason('unavailable', tool.unavailable_reason)}</div>`}
    ${some(tool.outdated_reason, (why) => html`<div class="notice"><strong>An older version is in use.</strong> ${reason('outdated', why)}</div>`)}
    ${some(circuit, (open) => circuitTemplate(open))}
    <div class="description">${longText(page, `description:${name}`, tool.description)}</div>
    ${factList([
      ['Effects', EFFECTS[tool.effects]],
      ['Available', availability],
      ['Timeout', toDuration(limits.timeout_ms)],
      ['Retries', limits.retries],
      ['Concurrent calls', limits.concurrency ?? 'no limit'],
      ['Calls per session', limits.max_calls_per_session ?? 'no limit'],
      ['Source', toVisibleExcerpt(tool.source)],
    ])}
    ${schema('Input', tool.input_schema)} ${schema('Output', tool.output_schema)}
    ${exampleTemplate(page, tool)} ${historyTemplate(page, name)} ${tryTemplate(page, tool)}`;
};

/** A call that fits the schema, as a command. */
const exampleTemplate = (page: PageModel, { name, input_schema: schema }: ToolDescription): TemplateResult =>
  folded(page, `example:${name}`, 'Example call', () => {
    const command = toCurl(toCallBody(name, exampleText(schema)), page.key, toAddress('tool-calls'));
    return html`${longText(page, `example:${name}:all`, command)}
      <p class="row">
        ${copyButton(page, 'Copy as curl', () => command)}
        <button type="button" class="quiet" @click=${() => page.editText(name, indentJson(exampleText(schema)))}>Use it in the form</button>
      </p>`;
  });

/** A form for one call of a tool, the same as JSON, and what came of it. */
const tryTemplate = (page: PageModel, tool: ToolDescription): TemplateResult => {
  const { text, attempt } = page.draftOf(tool.name);
  const submit = (event: Event): void => {
    event.preventDefault();
    page.send(tool, (sent) => html`<h3>Arguments</h3>${longText(page, `question:${tool.name}`, indentJson(sent))}`);
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
      ${folded(page, 'options', optionsLabel(page), () => html`<div class="row">${OPTIONS.map(([name, label, about]) => optionTemplate(page, name, label, about))}</div>`)}
      <div class="row">
        <button class="primary" ?disabled=${attempt !== null && attempt.answer === null}>Send</button>
        ${copyButton(page, 'Copy as curl', () => toCurl(toCallBody(tool.name, text), page.key, toAddress('tool-calls')))}
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

// What is set goes with every call, also while it is folded in.
const optionsLabel = ({ options }: PageModel): string => {
  const set = OPTIONS.filter(([name]) => options[name] !== '').length;
  return set === 0 ? 'Options' : `Options (${set} set)`;
};

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
