import { defineSource } from 'recourse-server/extension';
import { OpenApiImportSettings } from './openapi-import-settings.ts';

/** APIs that an OpenAPI document describes, as tools. */
export const OPENAPI_IMPORTS = defineSource({
  kind: 'openapi',
  description: 'Import name → OpenAPI document to import',
  settings: OpenApiImportSettings,
  prefixOf: ({ prefix }, name) => prefix ?? name,
  codePaths: async ({ document }, { directory }) => {
    const place = (await import('./read-document.ts')).findDocument(document, directory);
    return typeof place === 'string' ? [{ member: 'document', path: place }] : [];
  },
  load: async () => (await import('./openapi-import.ts')).createOpenApiImport,
});
