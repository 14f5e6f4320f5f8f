import { registerHooks } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { InlineTool, ToolFile } from '../tool.ts';
import { findExportedTools } from './exported-tools.ts';
import { isOwnSource, serveToolImports } from './tool-imports.ts';

const VERSION = 'recourse-version';
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
    if (versions.size === 0) {
      serveToolImports({ api, sourceOf: () => undefined, onImport: () => undefined });
      carryVersions(versions);
    }
    const version = String(versions.size + 1);
    versions.set(version, file.root);
    const url = pathToFileURL(file.path);
    url.searchParams.set(VERSION, version);
    const exports: unknown = await withinLoadTime(import(url.href));
    return typeof exports === 'object' && exports !== null ? findExportedTools(exports) : [];
  };
};

/** A module is loaded once per URL, so what a new version imports from its directory gets a new URL as well. */
const carryVersions = (versions: ReadonlyMap<string, string>): void => {
  registerHooks({
    resolve: (specifier, context, next) => {
      const resolved = next(specifier, context);
      const version = versionOf(context.parentURL);
      const root = versions.get(version);
      if (root === undefined || !resolved.url.startsWith('file:')) return resolved;
      const url = new URL(resolved.url);
      if (!isOwnSource(fileURLToPath(url), root)) return resolved;
      url.searchParams.set(VERSION, version);
      return { ...resolved, url: url.href };
    },
  });
};

const versionOf = (url: string | undefined): string =>
  url === undefined || !URL.canParse(url) ? '' : (new URL(url).searchParams.get(VERSION) ?? '');

const withinLoadTime = (loading: Promise<unknown>): Promise<unknown> => {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`loading did not end within ${LOAD_MS} ms`)), LOAD_MS);
  return Promise.race([loading, promise]).finally(() => clearTimeout(timer));
};
