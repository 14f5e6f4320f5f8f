import { pathToFileURL } from 'node:url';
import type { InlineTool, ToolFile } from '../tool.ts';
import { findExportedTools } from './exported-tools.ts';
import { isOwnSource, serveToolImports, withVersion } from './tool-imports.ts';

const LOAD_MS = 2000;

/**
 * Imports tool files into this process, for tools that the operator trusts as much as the service; rejects where a
 * file throws, or awaits for more than 2 s. `api` is the URL of what `recourse` means to them. Once it was used, the
 * module loader of this process knows that name for good.
 */
export const createInlineLoader = ({ api }: { readonly api: string }) => {
  /** Version → the root of the directory that it was loaded from. */
  const versions = new Map<string, string>();
  return async (file: ToolFile): Promise<readonly InlineTool[]> => {
    if (versions.size === 0) carryVersions(api, versions);
    const version = String(versions.size + 1);
    versions.set(version, file.root);
    const url = withVersion(pathToFileURL(file.path).href, version);
    const exports: unknown = await withinLoadTime(import(url));
    return typeof exports === 'object' && exports !== null ? findExportedTools(exports) : [];
  };
};

/** A module is loaded once per URL, so what a new version imports from its directory gets a new URL as well. */
const carryVersions = (api: string, versions: ReadonlyMap<string, string>): void =>
  serveToolImports({
    api,
    versionOf: () => '',
    isOwn: (path, version) => {
      const root = versions.get(version);
      return root !== undefined && isOwnSource(path, root);
    },
    sourceOf: () => undefined,
    onImport: () => undefined,
    onBuiltin: () => undefined,
  });

const withinLoadTime = (loading: Promise<unknown>): Promise<unknown> => {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`loading did not end within ${LOAD_MS} ms`)), LOAD_MS);
  return Promise.race([loading, promise]).finally(() => clearTimeout(timer));
};
