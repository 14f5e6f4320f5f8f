import { html, nothing, type TemplateResult } from 'lit-html';
import type { Field } from './form-field.ts';
import { depthOf, type JsonPath, listOf, parseJson, valueAt } from './json.ts';
import { toVisibleExcerpt, toVisibleName } from './visible-text.ts';

type Form = {
  readonly root: unknown;
  /** undefined takes the value out. */
  readonly change: (path: JsonPath, value: unknown) => void;
  /** How many more fields the lists in it may have. */
  readonly room: { left: number };
};

/** A control for every field, each bound to its place in the arguments. */
export const fieldsTemplate = (
  form: Form,
  fields: readonly Field[],
  path: JsonPath,
  id: string,
): readonly TemplateResult[] =>
  fields.map((field, index) => fieldTemplate(form, field, [...path, field.name], `${id}-${index}`));

const fieldTemplate = (form: Form, field: Field, path: JsonPath, id: string): TemplateResult => {
  if (field.kind === 'object') return objectTemplate(form, field, path, id);
  if (field.kind === 'list' && takeRoom(form, field, path)) return listTemplate(form, field, path, id);
  return controlledTemplate(form, field.kind === 'list' ? { ...field, kind: 'json' } : field, path, id);
};

const controlledTemplate = (form: Form, field: Field, path: JsonPath, id: string): TemplateResult => {
  const about = hasAbout(field) ? `${id}-about` : nothing;
  return html`<div class="field">
    <label for=${id}>${labelOf(field)}</label>
    ${controlTemplate(form, field, path, id, about)} ${aboutTemplate(field, id)}
  </div>`;
};

/** Whether the fields of a list's items still have room: what was pasted into the JSON may have any number of them. */
const takeRoom = ({ root, room }: Form, field: Field, path: JsonPath): boolean => {
  const fields = listOf(valueAt(root, path)).length * (field.kind === 'list' ? sizeOf(field.item) : 1);
  if (fields > room.left) return false;
  room.left -= fields;
  return true;
};

const sizeOf = (field: Field): number =>
  field.kind === 'object' ? field.fields.reduce((sum, inner) => sum + sizeOf(inner), 1) : 1;

const labelOf = ({ name, presence }: Field): TemplateResult =>
  html`<span class="name">${toVisibleName(name)}</span>${
    presence === 'required' ? html` <span class="required">required</span>` : nothing
  }`;

const hasAbout = ({ description, notes, kind }: Field): boolean =>
  description !== '' || notes.length > 0 || kind === 'json';

const aboutTemplate = (field: Field, id: string): TemplateResult | typeof nothing => {
  if (!hasAbout(field)) return nothing;
  const notes = [...field.notes, ...(field.kind === 'json' ? ['JSON; anything else is sent as text'] : [])];
  return html`<div class="about" id=${`${id}-about`}>
    ${toVisibleExcerpt(field.description)}${notes.length === 0 ? nothing : html` <span>(${toVisibleExcerpt(notes.join('; '))})</span>`}
  </div>`;
};

type Described = string | typeof nothing;

const controlTemplate = (form: Form, field: Field, path: JsonPath, id: string, about: Described): TemplateResult => {
  const value = valueAt(form.root, path);
  const required = field.presence === 'required' ? 'true' : nothing;
  const setText = (event: Event): void => form.change(path, toText(typedIn(event), field));
  const setParsed = (event: Event): void => form.change(path, toParsed(typedIn(event)));
  switch (field.kind) {
    case 'text':
      return html`<textarea id=${id} rows="1" spellcheck="false" aria-required=${required} aria-describedby=${about}
        .value=${shown(value)} @input=${setText}></textarea>`;
    case 'number':
      return html`<input id=${id} inputmode="decimal" autocomplete="off" aria-required=${required} aria-describedby=${about}
        .value=${shown(value)} @change=${(event: Event) => form.change(path, toNumber(typedIn(event)))} />`;
    case 'boolean':
      return choiceTemplate(form, path, [true, false], id, about);
    case 'choice':
      return choiceTemplate(form, path, field.options, id, about);
    default:
      return html`<textarea id=${id} class="code" rows="2" spellcheck="false" aria-required=${required}
        aria-describedby=${about} .value=${value === undefined ? '' : toEditable(value)}
        @change=${setParsed}></textarea>`;
  }
};

const choiceTemplate = (
  form: Form,
  path: JsonPath,
  options: readonly unknown[],
  id: string,
  about: Described,
): TemplateResult => {
  const chosen = JSON.stringify(valueAt(form.root, path));
  const isChosen = (option: unknown): boolean => JSON.stringify(option) === chosen;
  const choose = (event: Event): void => form.change(path, options[Number(typedIn(event))]);
  return html`<select id=${id} aria-describedby=${about} @change=${choose}>
    <option value="none" .selected=${!options.some(isChosen)}>not set</option>
    ${options.map(
      (option, index) =>
        html`<option value=${index} .selected=${isChosen(option)}>${toVisibleName(toLabel(option))}</option>`,
    )}
  </select>`;
};

const objectTemplate = (form: Form, field: Field, path: JsonPath, id: string): TemplateResult => {
  const fields = field.kind === 'object' ? field.fields : [];
  return html`<fieldset>
    <legend>${labelOf(field)}</legend>
    ${aboutTemplate(field, id)} ${fieldsTemplate(form, fields, path, id)} ${clearTemplate(form, field, path)}
  </fieldset>`;
};

const clearTemplate = (form: Form, { name, presence }: Field, path: JsonPath): TemplateResult | typeof nothing =>
  presence === 'required' || valueAt(form.root, path) === undefined
    ? nothing
    : html`<button type="button" class="quiet" @click=${() => form.change(path, undefined)}>
        Leave out ${toVisibleName(name)}
      </button>`;

const listTemplate = (form: Form, field: Field, path: JsonPath, id: string): TemplateResult => {
  if (field.kind !== 'list') return html``;
  const items = listOf(valueAt(form.root, path));
  const name = toVisibleName(field.name);
  return html`<fieldset>
    <legend>${labelOf(field)}</legend>
    ${aboutTemplate(field, id)}
    ${items.map((_, index) => {
      const item = { ...field.item, name: `${field.name} ${index + 1}` };
      return html`<div class="item">
        ${fieldTemplate(form, item, [...path, index], `${id}-${index}`)}
        <button type="button" class="quiet remove" aria-label="Remove ${name} ${index + 1}"
          @click=${() => form.change([...path, index], undefined)}>Remove</button>
      </div>`;
    })}
    <button type="button" class="quiet" @click=${() => form.change([...path, items.length], emptyOf(field.item))}>
      Add to ${name}
    </button>
    ${clearTemplate(form, field, path)}
  </fieldset>`;
};

// A new item must be something that its control can show.
const emptyOf = (item: Field): unknown => {
  if (item.kind === 'object') return {};
  if (item.kind === 'list') return [];
  return item.kind === 'text' ? '' : null;
};

export const typedIn = ({ target }: Event): string =>
  target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement
    ? target.value
    : '';

const shown = (value: unknown): string => {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
};

// Indented as far as it is worth it: nested deeper, blanks would outweigh the value by far.
const toEditable = (value: unknown): string => JSON.stringify(value, null, depthOf(value, 32) < 32 ? 2 : 0);

const toLabel = (option: unknown): string => (typeof option === 'string' ? option : JSON.stringify(option));

// Emptied: an optional text is left out, a required one is the empty text.
const toText = (typed: string, { presence }: Field): string | undefined =>
  typed === '' && presence === 'optional' ? undefined : typed;

// What is no number, or one whose digits would change, goes as it was typed: the service says what is wrong with it.
const toNumber = (typed: string): number | string | undefined => {
  const text = typed.trim();
  if (text === '') return undefined;
  const number = Number(text);
  const isExact = Number.isFinite(number) && (!Number.isInteger(number) || Number.isSafeInteger(number));
  return isExact ? number : text;
};

const toParsed = (typed: string): unknown => {
  if (typed.trim() === '') return undefined;
  const parsed = parseJson(typed);
  return parsed.kind === 'value' ? parsed.value : typed;
};
