import { html, nothing, type TemplateResult } from 'lit-html';
import type { View } from './actions.ts';
import type { Shown } from './answer-stream.ts';
import { type CallResult, explainStop, findTools, type Issue, mayRunUnasked, type ToolDescription } from './answers.ts';
import { fieldsTemplate, typedIn } from './fields-template.ts';
import { MAX_FIELDS, toFields } from './form-field.ts';
import { indentJson, isRecord, oncePerObject, parseJson, toJsonText } from './json.ts';
import { folded, longText, outcomeMark, type Part, toDuration, troubleBox } from './page-parts.ts';
import { pendingTemplate } from './pending-call.ts';
import { type Attempt, type CallOptions, draftOf, sessionLink, toolLink } from './state.ts';
import { toVisible, toVisibleExcerpt, toVisibleName } from './visible-text.ts';

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
  const search = (event: Event): void => act.search(typedIn(event));
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
    ${found.length <= MAX_ENTRIES ? nothing : html`<p class="muted">Only the first ${MAX_ENTRIES} are listed. Search for the others.</p>`}
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
          : 'This page then shows its schema and limits, and a form to call it and read the result that a model gets.'
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
    ${availabilityTemplate(view, tool)}
    <div class="description">${longText(view, `description:${name}`, tool.description)}</div>
    <dl class="facts">
      ${factsOf(tool).map(([term, fact]) => html`<div><dt>${term}</dt><dd>${fact}</dd></div>`)}
    </dl>
    ${schema('Input', tool.inputSchema)} ${schema('Output', tool.outputSchema)} ${tryTemplate(view, tool)}`;
};

// A reason may show the source, with a mark under the place: its lines stay.
const reasonOf = (view: View, identity: string, reason: string): Part =>
  reason === '' ? nothing : longText(view, identity, reason);

const availabilityTemplate = (view: View, tool: ToolDescription): TemplateResult => {
  const { name, available, unavailableReason, outdatedReason } = tool;
  return html`${
    available
      ? nothing
      : html`<div class="trouble"><strong>Not available.</strong> ${reasonOf(view, `unavailable:${name}`, unavailableReason)}</div>`
  }
  ${
    outdatedReason === ''
      ? nothing
      : html`<div class="notice">
          <strong>An older version is in use.</strong> ${reasonOf(view, `outdated:${name}`, outdatedReason)}
        </div>`
  }`;
};

const EFFECTS: ReadonlyMap<string, string> = new Map([
  ['read', 'read (changes nothing)'],
  ['idempotent', 'idempotent (repeating has no further effect)'],
  ['write', 'write (check before repeating)'],
]);

const factsOf = ({ effects, limits, available, source }: ToolDescription): readonly (readonly [string, string])[] => [
  ['Effects', EFFECTS.get(effects) ?? toVisibleExcerpt(effects)],
  ['Available', available ? 'yes' : 'no'],
  ['Timeout', limits.timeoutMs === null ? 'none' : toDuration(limits.timeoutMs)],
  ['Retries', String(limits.retries ?? 'none')],
  ['Concurrent calls', limits.concurrency === null ? 'no limit' : String(limits.concurrency)],
  ['Calls per session', limits.callsPerSession === null ? 'no limit' : String(limits.callsPerSession)],
  ['Source', toVisibleExcerpt(source)],
];

/** A form for one call of a tool, the same as JSON, and what came of it. */
const tryTemplate = (view: View, tool: ToolDescription): TemplateResult => {
  const { state, act } = view;
  const { text, attempt } = draftOf(state, tool.name);
  const submit = (event: Event): void => {
    event.preventDefault();
    act.send(tool);
  };
  const sendByKey = (event: KeyboardEvent): void => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) submit(event);
  };
  return html`<section aria-labelledby="try-title">
    <h3 id="try-title">Try a call</h3>
    <form class="try" novalidate autocomplete="off" @submit=${submit} @keydown=${sendByKey}>
      ${formTemplate(view, tool, text)}
      <div class="field">
        <label for="arguments">Arguments as JSON</label>
        <textarea id="arguments" class="code" rows="4" spellcheck="false" aria-describedby="arguments-about"
          .value=${text} @input=${(event: Event) => act.editText(tool.name, typedIn(event))}></textarea>
        <div class="about" id="arguments-about">Sent exactly as written, even if it is not JSON: models do that as well.</div>
      </div>
      <div class="options">
        ${OPTIONS.map((option) => optionTemplate(view, option))}
      </div>
      <div class="actions">
        <button class="primary" ?disabled=${attempt.kind === 'sending'}>Send</button>
        <span class="muted" id="send-about">${aboutSending(tool)}</span>
      </div>
    </form>
    ${attemptTemplate(view, tool, attempt)}
  </section>`;
};

const fieldsOf = oncePerObject(toFields);

const formTemplate = ({ act }: View, tool: ToolDescription, text: string): unknown => {
  const { fields, left } = fieldsOf(tool.inputSchema);
  if (fields.length === 0) return html`<p class="muted">The schema has no parameters.</p>`;
  const parsed = parseJson(text);
  if (parsed.kind === 'broken' || !isRecord(parsed.value)) {
    const why = parsed.kind === 'broken' ? parsed.why : 'Arguments must be one object.';
    return html`<p class="notice">The form is disabled until the JSON below is an object. <span class="muted">${why}</span></p>`;
  }
  const form = {
    root: parsed.value,
    change: (path: readonly (string | number)[], value: unknown) => act.editValue(tool.name, path, value),
    room: { left: MAX_FIELDS },
  };
  return html`${fieldsTemplate(form, fields, [], 'field')}
  ${left === 0 ? nothing : html`<p class="notice">${left} more parameters have no field here: enter them in the JSON below.</p>`}`;
};

type Option = { readonly name: keyof CallOptions; readonly label: string; readonly about: string };

const OPTIONS: readonly Option[] = [
  { name: 'sessionId', label: 'Session id', about: 'Optional. Budgets are kept per session.' },
  {
    name: 'idempotencyKey',
    label: 'Idempotency key',
    about: 'Optional. A repeat with the same key returns the stored answer and does not run the call again.',
  },
  { name: 'timeoutMs', label: 'Timeout (ms)', about: "Optional. Can only shorten the tool's own limit." },
];

const optionTemplate = ({ state, act }: View, { name, label, about }: Option): TemplateResult =>
  html`<div class="field">
    <label for=${`option-${name}`}>${label}</label>
    <input id=${`option-${name}`} spellcheck="false" aria-describedby=${`option-${name}-about`}
      .value=${state.options[name]} @input=${(event: Event) => act.setOption(name, typedIn(event))} />
    <div class="about" id=${`option-${name}-about`}>${about}</div>
  </div>`;

const aboutSending = ({ effects, available }: ToolDescription): string | typeof nothing => {
  if (!available) return 'This tool is not available now: a call will fail.';
  if (mayRunUnasked(effects)) return nothing;
  return `${effects === 'write' ? 'A write tool' : 'Effects not declared'}: you must confirm before it runs.`;
};

/** What came of the last call of a tool. */
const attemptTemplate = (view: View, tool: ToolDescription, attempt: Attempt): Part => {
  switch (attempt.kind) {
    case 'none':
      return nothing;
    case 'sending':
      return html`<div class="result"><p class="muted">Waiting for the answer…</p>${shownTemplate(attempt.shown)}</div>`;
    case 'troubled':
      return html`<div class="result">${troubleBox(view, attempt.trouble)}</div>`;
    case 'answered':
      return answerTemplate(view, tool, attempt);
  }
};

/** What the call shows before its result. */
const shownTemplate = ({ progress, parts }: Shown): Part => {
  if (progress === '' && parts.length === 0) return nothing;
  return html`<h5>Shown while it runs</h5>
    ${progress === '' ? nothing : html`<p class="shown-progress">${toVisible(progress)}</p>`}
    ${parts.length === 0 ? nothing : html`<pre class="shown-parts">${toVisible(parts.join('\n'))}</pre>`}`;
};

type Answered = Extract<Attempt, { readonly kind: 'answered' }>;

const toRawText = oncePerObject(({ raw }: Answered) => indentJson(raw));

const answerTemplate = (view: View, { name }: ToolDescription, attempt: Answered): TemplateResult => {
  const { result, requestId } = attempt.answer;
  const identity = `result:${name}:${requestId}`;
  const { sessionId } = view.state.options;
  return html`<div class="result">
    <h4>Result</h4>
    <p class="summary">
      ${outcomeMark(result.outcome)} ${result.code === '' ? nothing : html`<code>${toVisible(result.code)}</code>`}
      <span>executed: <b>${toVisible(result.executed)}</b></span>
      <span>${toDuration(result.durationMs)}</span>
      ${result.flags.map((mark) => html`<span class="mark other">${mark}</span>`)}
    </p>
    ${shownTemplate(attempt.shown)}
    ${pendingTemplate(result, () => void view.act.cancelCall(requestId))}
    <h5>What the model reads</h5>
    ${readingTemplate(view, identity, result)} ${stopTemplate(result)}
    ${warningsTemplate(result)}
    ${folded(view, `${identity}:raw`, 'Raw answer', () => longText(view, `${identity}:raw:all`, toRawText(attempt)))}
    <p class="muted">
      Request <code>${toVisible(requestId)}</code>
      ${result.reference === '' ? nothing : html`· log reference <code>${toVisible(result.reference)}</code>`}
      ${sessionId === '' ? nothing : html`· <a href=${sessionLink(sessionId)}>Session ${toVisibleName(sessionId)}</a>`}
    </p>
  </div>`;
};

const readingTemplate = (view: View, identity: string, result: CallResult): TemplateResult => html`<dl class="reading">
  ${result.message === '' ? nothing : html`<dt>Message</dt><dd>${longText(view, `${identity}:message`, result.message)}</dd>`}
  ${result.retryAfterMs === null ? nothing : html`<dt>Retry after</dt><dd>${toDuration(result.retryAfterMs)}</dd>`}
  ${result.issues.length === 0 ? nothing : html`<dt>Issues</dt><dd>${issuesTemplate(result.issues)}</dd>`}
  <dt>Value</dt>
  <dd>${longText(view, `${identity}:value`, toJsonText(result.value))}</dd>
</dl>`;

const issuesTemplate = (issues: readonly Issue[]): TemplateResult => html`<ul class="issues">
  ${issues.map(
    ({ path, expected, received, message }) => html`<li>
      <code>${path === '' ? '(whole)' : toVisibleName(path)}</code>
      <span>${toVisibleExcerpt(message)}</span>
      <span class="muted">expected ${toVisibleExcerpt(expected)}, received ${toVisibleExcerpt(received)}</span>
    </li>`,
  )}
</ul>`;

const stopTemplate = (result: CallResult): Part => {
  const stop = explainStop(result);
  if (stop === null) return nothing;
  const { verdict, budget } = stop;
  return html`<p class="budget">
    ${toVisible(verdict)} ${budget === '' ? nothing : html`<span class="muted">${toVisible(budget)}</span>`}
  </p>`;
};

const warningsTemplate = ({ warnings }: CallResult): Part =>
  warnings.length === 0
    ? nothing
    : html`<ul class="warnings">
        ${warnings.map(({ code, message }) => html`<li><code>${toVisible(code)}</code> ${toVisibleExcerpt(message)}</li>`)}
      </ul>`;
