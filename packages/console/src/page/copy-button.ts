import { html, type TemplateResult } from 'lit-html';
import type { PageModel } from './page-model.ts';

/** Copies a text that is made when it is asked for. Where the browser lets no page copy (plain HTTP), shows it to be copied by hand. */
export const copyButton = (page: PageModel, label: string, makeText: () => string): TemplateResult =>
  html`<button type="button" class="quiet copy" @click=${(event: Event) => void copy(page, event.currentTarget, makeText())}>${label}</button>`;

const copy = async (page: PageModel, button: EventTarget | null, text: string): Promise<void> => {
  if (!(await writeText(text))) return page.update({ question: toByHand(text) });
  for (const each of document.querySelectorAll('[data-copied]')) each.removeAttribute('data-copied');
  if (button instanceof HTMLElement) button.dataset['copied'] = '';
  page.seen.announcement = 'Copied.';
  page.update({});
};

// Not there at all outside of secure contexts; refused where a policy forbids it.
const writeText = async (text: string): Promise<boolean> => {
  const { clipboard }: { readonly clipboard?: Clipboard } = navigator;
  if (clipboard === undefined) return false;
  return clipboard.writeText(text).then(
    () => true,
    () => false,
  );
};

const toByHand = (value: string) => ({
  title: 'Copy by hand',
  text: 'The browser lets this page copy only over HTTPS or from this machine.',
  label: 'Done',
  fields: [{ name: 'by-hand', label: 'Text', about: 'Select all of it, then copy it.', value }],
  act: (): void => undefined,
});
