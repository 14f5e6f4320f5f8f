import { html, nothing, type TemplateResult } from 'lit-html';
import type { Field } from './form-field.ts';
import { depthOf, type JsonPath, listOf, parseJson, valueAt } from './json.ts';
import { fieldBox, some, typedIn } from './page-parts.ts';
import { toVisibleExcerpt, toVisibleName } from './visible-text.ts';

type Form = {
  readonly root: unknown;
  /** undefined takes the value out. */
  readonly change: (path: JsonPath, value: unknown) => void;
  /** How many more fields the lists in it may have. */
  readonly room: { left: number };
};

type ListField = Extract<Field, { readonly kind: 'list' }>;

/** A control for every field, each bound to its place in the arguments. */
export const fieldsTemplate = (form: Form, fields: readonly Field[], path: JsonPath, id: string): unknown =>
  fields.map((field, index) => fieldTemplate(form, field, [...path, field.name], `${id}-${index}`));

const fieldTemplate = (form: Form, field: Field, path: JsonPath, id: string): TemplateResult => {
  if (field.kind === 'object') return groupTemplate(form, field, path, fieldsTemplate(form, field.fields, path, id));
  if (field.kind === 'list' && takeRoom(form, field, path))
    return groupTemplate(form, field, path, itemsTemplate(form, field, path, id));
  const isJson = field.kind === 'json' || field.kind === 'list';
  const about = aboutTemplate(field, isJson ? ['JSON; anything else is sent as text'] : []);
  const control = controlTemplate(form, field, path, id, about === nothing ? nothing : `${id}-about`);
  return fieldBox(id, labelTemplate(field), control, about);
};

/** Whether the fields of a list's items still have room: what was pasted into the JSON may have any number of them. */
const takeRoom = ({ root, room }: Form, { item }: ListField, path: JsonPath): boolean => {
  const fields = listOf(valueAt(root, path)).length * sizeOf(item);
  if (fields > room.left) return false;
  room.left -= fields;
  return true;
};

const sizeOf = (field: Field): number =>
  field.kind === 'object' ? field.fields.reduce((sum, inner) => sum + sizeOf(inner), 1) : 1;

const labelTemplate = ({ name, presence }: Field): TemplateResult =>
  html`<span class="name">${toVisibleName(name)}</span> ${presence === 'required' ? html`<span class="muted">required</span>` : nothing}`;

const aboutTemplate = ({ description, notes }: Field, more: readonly string[]): unknown => {
  const inBrackets = some([...notes, ...more].join('; '), (text) => html` <span>(${toVisibleExcerpt(text)})</span>`);
  return description === '' && inBrackets === nothing ? nothing : html`${toVisibleExcerpt(description)}${inBrackets}`;
};

const controlTemplate = (form: Form, field: Field, path: JsonPath, id: string, about: unknown): TemplateResult => {
  const value = valueAt(form.root, path);
  const required = field.presence === 'required' ? 'true' : nothing;
  const changed = (read: (typed: string) => unknown) => (event: Event) => form.change(path, read(typedIn(event)));
  switch (field.kind) {
    case 'text':
      return html`<textarea id=${id} rows="1" spellcheck="false" aria-required=${required} aria-describedby=${about}
        .value=${toPlain(value)} @input=${changed((typed) => (typed === '' && required === nothing ? undefined : typed))}></textarea>`;
    case 'number':
      return html`<input id=${id} inputmode="decimal" autocomplete="off" aria-required=${required} aria-describedby=${about}
        .value=${toPlain(value)} @change=${changed(parseNumber)} />`;
    case 'choice':
      return html`<select id=${id} aria-describedby=${about} @change=${changed((index) => field.options[Number(index)])}>
        ${['not set', ...field.options].map((option, index) => optionTemplate(option, index - 1, value))}
      </select>`;
    default:
      return html`<textarea id=${id} rows="2" spellcheck="false" aria-required=${required}
        aria-describedby=${about} .value=${value === undefined ? '' : toEditable(value)} @change=${changed(parseValue)}></textarea>`;
  }
};

// The first one, -1, takes the value out.
const optionTemplate = (option: unknown, index: number, value: unknown): TemplateResult => {
  const isChosen = index === -1 ? value === undefined : JSON.stringify(option) === JSON.stringify(value);
  const label = toVisibleName(toPlain(option) || JSON.stringify(option));
  return html`<option value=${index} .selected=${isChosen}>${label}</option>`;
};

/** Fields that stand together, with a button that leaves all of them out. */
const groupTemplate = (form: Form, field: Field, path: JsonPath, content: unknown): TemplateResult => {
  const isFixed = field.presence === 'required' || valueAt(form.root, path) === undefined;
  const leaveOut = html`<button type="button" class="quiet" @click=${() => form.change(path, undefined)}>
    Leave out ${toVisibleName(field.name)}
  </button>`;
  return html`<fieldset>
    <legend>${labelTemplate(field)}</legend>
    ${some(aboutTemplate(field, []), (about) => html`<div class="about">${about}</div>`)} ${content} ${isFixed ? nothing : leaveOut}
  </fieldset>`;
};

const itemsTemplate = (form: Form, { name, item }: ListField, path: JsonPath, id: string): TemplateResult => {
  const items = listOf(valueAt(form.root, path)).map((_, index) => {
    const numbered = `${name} ${index + 1}`;
    const place = [...path, index];
    return html`<div class="row">
      ${fieldTemplate(form, { ...item, name: numbered }, place, `${id}-${index}`)}
      <button type="button" class="quiet" aria-label="Remove ${toVisibleName(numbered)}"
        @click=${() => form.change(place, undefined)}>Remove</button>
    </div>`;
  });
  return html`${items}
    <button type="button" class="quiet" @click=${() => form.change([...path, items.length], EMPTY[item.kind])}>
      Add to ${toVisibleName(name)}
    </button>`;
};

// A new item must be something that its control can show.
const EMPTY = { text: '', number: null, json: null, choice: null, object: {}, list: [] };

const toPlain = (value: unknown): string => {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
};

// Indented as far as it is worth it: nested deeper, blanks would outweigh the value by far.
const toEditable = (value: unknown): string => JSON.stringify(value, null, depthOf(value, 32) < 32 ? 2 : 0);

// What is no number, or one whose digits would change, goes as it was typed: the service says what is wrong with it.
const parseNumber = (typed: string): number | string | undefined => {
  const text = typed.trim();
  if (text === '') return undefined;
  const number = Number(text);
  const isExact = Number.isFinite(number) && (!Number.isInteger(number) || Number.isSafeInteger(number));
  return isExact ? number : text;
};

const parseValue = (typed: string): unknown => {
  if (typed.trim() === '') return undefined;
  const parsed = parseJson(typed);
  return 'value' in parsed ? parsed.value : typed;
};
