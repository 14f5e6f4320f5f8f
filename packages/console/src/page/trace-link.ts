import { html, type TemplateResult } from 'lit-html';
import { TRACE_URL } from './service-facts.ts';
import { toVisibleName } from './visible-text.ts';

/** A link to a trace where TRACE_URL says where traces are shown; else the id of the trace. */
export const traceTemplate = (id: string): TemplateResult =>
  TRACE_URL !== '' && /^[0-9a-f]{32}$/.test(id)
    ? html`<a href=${TRACE_URL.replaceAll('{trace_id}', id)} target="_blank" rel="noopener noreferrer">Trace</a>`
    : html`Trace <code>${toVisibleName(id)}</code>`;
