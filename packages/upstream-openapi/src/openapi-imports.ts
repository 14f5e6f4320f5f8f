import { defineUpstream } from '@recourse/upstreams/upstream';
import { OpenApiImportSettings } from './openapi-import-settings.ts';

/** APIs that an OpenAPI document describes, as tools. */
export const OPENAPI_IMPORTS = defineUpstream({
  kind: 'openapi',
  description: 'Import name → OpenAPI document to import',
  settings: OpenApiImportSettings,
  prefixOf: ({ prefix }, name) => prefix ?? name,
  load: async () => (await import('./openapi-import.ts')).createOpenApiImport,
});
