import { pathToFileURL } from 'node:url';
import { findExportedTools } from '../../tools/directory/exported-tools.ts';
import { serveToolImports } from '../../tools/directory/tool-imports.ts';
import type { InlineTool } from '../../tools/tool.ts';

export type LoadRequest = {
  readonly path: string;
  /** URL of the module that tool files import as `recourse`. */
  readonly api: string;
  readonly sources: ReadonlyMap<string, string>;
};

export type LoadedTools = { readonly tools: readonly InlineTool[]; readonly imported: readonly string[] };

/** Imports the file with the kept sources and gives the tools it exports, also within arrays. Rejects with what it throws. */
export const loadTools = async ({ path, api, sources }: LoadRequest): Promise<LoadedTools> => {
  const imported = new Set<string>();
  serveToolImports({ api, sourceOf: (file) => sources.get(file), onImport: (file) => void imported.add(file) });
  const module: object = await import(pathToFileURL(path).href);
  return { tools: findExportedTools(module), imported: [...imported] };
};
