/** What Node needs to run the sources of this checkout, as npm scripts have it: `recourse-server` and its packages are their sources. */
export const FROM_SOURCES = ['-C', '@recourse/source'] as const;
