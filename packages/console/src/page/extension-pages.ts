/** A page that an extension of the service adds: `name` is that of the extension. */
export type ExtensionPage = { readonly name: string; readonly title: string };

/** Of this service: what it serves in place of this file names its own. */
export const EXTENSION_PAGES: readonly ExtensionPage[] = [];
