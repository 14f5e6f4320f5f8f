import { html, nothing, type TemplateResult } from 'lit-html';
import type { Field } from './form-field.ts';
import { depthOf, type JsonPath, listOf, parseJson, valueAt } from './json.ts';
import { fieldBox, type Part, some, typedIn } from './page-parts.ts';
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
export const fieldsTemplate = (
  form: Form,
  fields: readonly Field[],
  path: JsonPath,
  id: string,
): readonly TemplateResult[] =>
  fields.map((field, index) => fieldTemplate(form, field, [...path, field.name], `${id}-${index}`));

const fieldTemplate = (form: Form, field: Field, path: JsonPath, id: string): TemplateResult => {
  if (field.kind === 'object') return groupTemplate(form, field, path, fieldsTemplate(form, field.fields, path, id));
  if (field.kind === 'list' && takeRoom(form, field, path))
    return groupTemplate(form, field, path, itemsTemplate(form, field, path, id));
  const entered: Field = field.kind === 'list' ? { ...field, kind: 'json' } : field;
  const about = aboutTemplate(entered);
  const described = about === nothing ? nothing : `${id}-about`;
  return fieldBox(id, labelTemplate(field), controlTemplate(form, entered, path, id, described), about);
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
  html`<span class="name">${toVisibleName(name)}</span>${
    presence === 'required' ? html` <span class="muted">required</span>` : nothing
  }`;

const aboutTemplate = ({ description, notes, kind }: Field): Part => {
  const all = kind === 'json' ? [...notes, 'JSON; anything else is sent as text'] : notes;
  if (description === '' && all.length === 0) return nothing;
  return html`${toVisibleExcerpt(description)} ${some(all, () => html`<span>(${toVisibleExcerpt(all.join('; '))})</span>`)}`;
};

const controlTemplate = (form: Form, field: Field, path: JsonPath, id: string, about: unknown): TemplateResult => {
  const value = valueAt(form.root, path);
  const required = field.presence === 'required' ? 'true' : nothing;
  const changed =
    (read: (typed: string) => unknown) =>
    (event: Event): void =>
      form.change(path, read(typedIn(event)));
  switch (field.kind) {
    case 'text':
      return html`<textarea id=${id} rows="1" spellcheck="false" aria-required=${required} aria-describedby=${about}
        .value=${toPlain(value)} @input=${changed((typed) => (typed === '' && required === nothing ? undefined : typed))}></textarea>`;
    case 'number':
      return html`<input id=${id} inputmode="decimal" autocomplete="off" aria-required=${required} aria-describedby=${about}
        .value=${toPlain(value)} @change=${changed(parseNumber)} />`;
    case 'choice':
      return choiceTemplate(value, field.options, id, about, changed);
    default:
      return html`<textarea id=${id} class="code" rows="2" spellcheck="false" aria-required=${required}
        aria-describedby=${about} .value=${value === undefined ? '' : toEditable(value)} @change=${changed(parseValue)}></textarea>`;
  }
};

const choiceTemplate = (
  value: unknown,
  options: readonly unknown[],
  id: string,
  about: unknown,
  changed: (read: (typed: string) => unknown) => (event: Event) => void,
): TemplateResult => {
  const chosen = JSON.stringify(value);
  const isChosen = (option: unknown): boolean => JSON.stringify(option) === chosen;
  return html`<select id=${id} aria-describedby=${about} @change=${changed((index) => options[Number(index)])}>
    <option value="none" .selected=${!options.some(isChosen)}>not set</option>
    ${options.map(
      (option, index) =>
        html`<option value=${index} .selected=${isChosen(option)}>${toVisibleName(toPlain(option) || JSON.stringify(option))}</option>`,
    )}
  </select>`;
};

/** Fields that stand together, with a button that leaves all of them out. */
const groupTemplate = (form: Form, field: Field, path: JsonPath, content: unknown): TemplateResult => {
  const canLeaveOut = field.presence === 'optional' && valueAt(form.root, path) !== undefined;
  return html`<fieldset>
    <legend>${labelTemplate(field)}</legend>
    ${some(aboutTemplate(field), (about) => html`<div class="about">${about}</div>`)} ${content}
    ${
      canLeaveOut
        ? html`<button type="button" class="quiet" @click=${() => form.change(path, undefined)}>
            Leave out ${toVisibleName(field.name)}
          </button>`
        : nothing
    }
  </fieldset>`;
};

const itemsTemplate = (form: Form, field: ListField, path: JsonPath, id: string): TemplateResult => {
  const items = listOf(valueAt(form.root, path));
  const name = toVisibleName(field.name);
  return html`${items.map((_, index) => {
    const item = { ...field.item, name: `${field.name} ${index + 1}` };
    return html`<div class="item">
        ${fieldTemplate(form, item, [...path, index], `${id}-${index}`)}
        <button type="button" class="quiet" aria-label="Remove ${name} ${index + 1}"
          @click=${() => form.change([...path, index], undefined)}>Remove</button>
      </div>`;
  })}
    <button type="button" class="quiet" @click=${() => form.change([...path, items.length], EMPTY[field.item.kind])}>
      Add to ${name}
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
