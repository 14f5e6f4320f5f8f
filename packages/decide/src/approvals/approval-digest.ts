import { toCanonicalText, toDigest } from 'recourse-server/json/canonical-text';
import type { Tool } from 'recourse-server/tools/tool';
import { toolDigestOf } from '../policies/tool-digest.ts';

type Input = Readonly<Record<string, unknown>>;

/** What of a call is approved. */
export type Digested = {
  readonly tenant: string;
  readonly sessionKey: string | null;
  readonly tool: Tool;
  /** With the defaults of the schema filled in. */
  readonly input: Input;
};

/** What a tool comes from, as the configuration has it: an entry of an import or of an MCP server; null: nothing. */
export type FindEntry = (tool: Tool) => unknown;

/** `sha256:` and 64 hex digits over tenant, session, tool and arguments: what is approved, and nothing else. */
export const digestCall = ({ tenant, sessionKey, tool, input }: Digested, findEntry: FindEntry): string => {
  const session = sessionKey === null ? null : hashSession(sessionKey);
  const text = toCanonicalText(['recourse-approval-2', tenant, session, tool.name, digestTool(tool, findEntry), input]);
  // Nothing that has no text may be taken for something else that has none.
  if (text === '') throw new Error('The arguments have no JSON text.');
  return `sha256:${toDigest(text)}`;
};

/** The SHA-256 of the session's id, 64 hex digits: of what stands before it, the tenant is known. */
export const hashSession = (sessionKey: string): string => sessionKey.slice(sessionKey.lastIndexOf(':') + 1);

// An entry that is changed may make another tool of the same name and schemas.
const digestTool = (tool: Tool, findEntry: FindEntry): string =>
  toDigest(toCanonicalText([toolDigestOf(tool), findEntry(tool) ?? null]));
