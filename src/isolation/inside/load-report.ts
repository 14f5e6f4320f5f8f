import { stripTypeScriptTypes } from 'node:module';
import { readDefinitionError } from '../../tools/definition-error.ts';
import type { ThrownAtLoad } from '../../tools/directory/load-tool-file.ts';
import { findPlaceOfSyntax, findPlaces, type SourcePlace } from '../../tools/directory/source-place.ts';
import { withoutVersions } from '../../tools/directory/tool-imports.ts';
import type { InlineTool, ToolFacts } from '../../tools/tool.ts';
import type { LoadedTools, LoadRequest, ModuleWorlds } from './module-worlds.ts';
import { toThrownParts } from './thrown-parts.ts';

/** What the tools of a file say of themselves, as JSON. */
export const toLoadedBody = ({ facts, imported, unexported, lookalikes }: LoadedTools): string =>
  JSON.stringify({ tools: facts, imported, unexported, lookalikes });

/** Tools and reducers by role and name. */
export const toToolMap = (tools: readonly InlineTool[]): ReadonlyMap<string, InlineTool> =>
  new Map(tools.map((tool) => [toKey(tool.role, tool.name), tool]));

export const toKey = (role: ToolFacts['role'], name: string): string => `${role} ${name}`;

// No more fits a message. The service shows 500 characters.
const MAX_REASON = 8000;

type Surroundings = Pick<LoadRequest, 'root' | 'sources'> & {
  /** What had been imported when it failed. */
  readonly imported: readonly string[];
  /** What `recourse` exports. */
  readonly exports: readonly string[];
};

export type FailedLoad = { readonly ok: false; readonly reason: string; readonly body: string };

/** Loads a file, or says why that failed; `api` is the URL of what it imports as `recourse`. Never rejects. */
export const loadFile = (
  worlds: ModuleWorlds,
  request: LoadRequest,
  api: string,
): Promise<FailedLoad | ({ readonly ok: true } & LoadedTools)> =>
  worlds.load(request).then(
    (found) => ({ ok: true, ...found }),
    async (thrown) => {
      const exports = Object.keys(await import(api));
      return toFailedLoad(thrown, { ...request, imported: worlds.importedOf(request.version), exports });
    },
  );

/** Why a file could not be loaded: what it threw, and because of what; and as JSON, what the service tells people by. */
const toFailedLoad = (thrown: unknown, surroundings: Surroundings): FailedLoad => {
  const parts = toThrownParts(thrown);
  const said = parts.map(({ name, message }, place) => {
    const part = `${name}: ${message}`;
    return place < parts.length - 1 ? part.replace(/\.$/, '') : part;
  });
  const reason = withoutVersions(said.join(', because of ')).slice(0, MAX_REASON);
  const body = JSON.stringify(toThrownAtLoad(thrown, surroundings) satisfies ThrownAtLoad);
  return { ok: false, reason: reason || 'it threw nothing that can be read', body };
};

const toThrownAtLoad = (thrown: unknown, surroundings: Surroundings): ThrownAtLoad => {
  const [first = { name: '', message: '', stack: '' }] = toThrownParts(thrown);
  const refused = readDefinitionError(thrown);
  return {
    name: first.name,
    message: withoutVersions(first.message),
    code: thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : null,
    tool: refused?.tool ?? null,
    member: refused?.member ?? null,
    place: toPlace(thrown, first.stack, surroundings),
    exports: surroundings.exports,
  };
};

const toPlace = (thrown: unknown, stack: string, { root, sources, imported }: Surroundings): SourcePlace | null => {
  const place = findPlaceOfSyntax(stack, root) ?? findPlaces(stack, root)[0] ?? null;
  if (place !== null || !(thrown instanceof SyntaxError)) return place;
  // V8 tells nobody where in a module of JavaScript: the type stripper reads that as well, and says where it stumbles.
  for (const path of imported) {
    const found = findStumble(path, sources.get(path) ?? '', root);
    if (found !== null) return found;
  }
  return null;
};

const findStumble = (path: string, text: string, root: string): SourcePlace | null => {
  try {
    stripTypeScriptTypes(text);
    return null;
  } catch (error) {
    const [{ stack } = { stack: '' }] = toThrownParts(error);
    return findPlaceOfSyntax(`${path}${stack}`, root);
  }
};
