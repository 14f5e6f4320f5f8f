import { toLoadedFacts } from '../../tools/directory/to-loaded-facts.ts';
import { withoutVersions } from '../../tools/directory/tool-imports.ts';
import type { InlineTool, ToolFacts } from '../../tools/tool.ts';
import { toThrownParts } from './thrown-parts.ts';

/** What the tools of a file say of themselves, as JSON. */
export const toLoadedBody = ({
  tools,
  imported,
}: {
  readonly tools: readonly InlineTool[];
  readonly imported: readonly string[];
}) => JSON.stringify({ tools: tools.map(toLoadedFacts), imported });

/** Tools and reducers by role and name. */
export const toToolMap = (tools: readonly InlineTool[]): ReadonlyMap<string, InlineTool> =>
  new Map(tools.map((tool) => [toKey(tool.role, tool.name), tool]));

export const toKey = (role: ToolFacts['role'], name: string): string => `${role} ${name}`;

// No more fits a message. The service shows 500 characters.
const MAX_REASON = 8000;

/** Why a file could not be loaded: what it threw, and because of what. */
export const toFailedLoad = (thrown: unknown) => {
  const parts = toThrownParts(thrown).map(({ name, message }) => `${name}: ${message}`);
  const said = parts.map((part, place) => (place < parts.length - 1 ? part.replace(/\.$/, '') : part));
  const reason = withoutVersions(said.join(', because of ')).slice(0, MAX_REASON);
  return { ok: false as const, reason: reason || 'it threw nothing that can be read' };
};
