import { defineExtension } from 'recourse-server/extension';

/** Operations of OpenAPI documents as tools, which `openapi` of the configuration file names. */
export const extension = defineExtension({
  name: 'upstream-openapi',
  settings: {},
  sources: { openapi: async () => (await import('./openapi-imports.ts')).OPENAPI_IMPORTS },
});
