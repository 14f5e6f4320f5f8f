import type { ToolDescription } from '../contract/tool-description.ts';

/** The text of a catalogue, made once as long as the tools stay what they are. */
export type CatalogueTexts = (tools: readonly ToolDescription[], form: string, make: () => string) => string;

// A catalogue of a thousand tools is 2 MB: as many different ones as a service has kinds of keys and formats, not more.
const MOST_TEXTS = 8;

/**
 * Keeps the texts asked for last, by form and by the tools in them: who may use the same tools reads the same text.
 * `versionOf` gives another object whenever a description may have changed.
 */
export const createCatalogueTexts = (versionOf: () => object): CatalogueTexts => {
  const texts = new Map<string, string>();
  let version: object | null = null;
  return (tools, form, make) => {
    const now = versionOf();
    if (now !== version) texts.clear();
    version = now;
    const key = `${form}\n${tools.map(({ name }) => name).join('\n')}`;
    const text = texts.get(key) ?? make();
    texts.delete(key);
    texts.set(key, text);
    const [oldest] = texts.keys();
    if (texts.size > MOST_TEXTS && oldest !== undefined) texts.delete(oldest);
    return text;
  };
};
