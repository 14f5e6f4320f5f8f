import { html, type TemplateResult } from 'lit-html';
import type { PageModel } from './page-model.ts';

/** The first page. */
export const view = (_page: PageModel): TemplateResult => html`<h2 id="page-title" tabindex="-1">Overview</h2>`;
