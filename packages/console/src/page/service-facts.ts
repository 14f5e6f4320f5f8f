type ServiceFacts = {
  readonly codes: Readonly<Record<string, string>>;
  readonly trace_url: string;
  readonly extension_pages: readonly { readonly name: string; readonly title: string }[];
};

// The service writes them into each page that it sends.
const facts: ServiceFacts = JSON.parse(
  document.querySelector<HTMLMetaElement>('meta[name=service-facts]')?.content ?? '',
);

/** What each failure code means, by code. */
export const CODES = facts.codes;

/** Where traces are shown, with `{trace_id}` in it; "" where TRACE_URL is not set. */
export const TRACE_URL = facts.trace_url;

/** The pages that extensions of the service add: `name` is that of the extension. */
export const EXTENSION_PAGES = facts.extension_pages;
