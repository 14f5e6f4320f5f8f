import { html, type TemplateResult } from 'lit-html';
import { cut, toVisibleName } from './visible-text.ts';

/** A part of the first page: open and above where something is wrong, one folded line below where nothing is. */
export type Section = {
  readonly isWrong: boolean;
  readonly title: string;
  /** How it stands, in a few words. */
  readonly line: string;
  readonly content: () => unknown;
};

const LONG_NAME = 40;

/** The first names, and how many more there are. */
export const namesOf = (names: readonly string[]): string => {
  const [first = '', second = '', ...more] = [...new Set(names)].map((name) => toVisibleName(cut(name, LONG_NAME)));
  const shown = second === '' ? first : `${first}, ${second}`;
  return more.length === 0 ? shown : `${shown} and ${more.length} more`;
};

/** A table that scrolls sideways where it has no room: by keyboard as well. */
export const scrolled = (
  label: string,
  heads: readonly string[],
  rows: readonly (readonly unknown[])[],
): TemplateResult =>
  html`<div class="scrolled" tabindex="0" role="region" aria-label=${label}>
    <table>
      <thead><tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead>
      <tbody>${rows.map((cells) => html`<tr>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>`)}</tbody>
    </table>
  </div>`;
