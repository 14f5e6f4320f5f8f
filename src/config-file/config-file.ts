import * as z from 'zod';
import { McpServerSettings } from '../tools/mcp/mcp-server-settings.ts';
import { TOOL_PATTERN, ToolOverride } from '../tools/offers/tool-override.ts';
import { OpenApiImportSettings } from '../tools/openapi/operation/openapi-import-settings.ts';

const SourceName = z
  .string()
  .regex(/^[^\p{Cc}\p{Zl}\p{Zp}]{1,64}$/u, 'must have 1 to 64 characters, all of them visible');
const ToolPattern = z.string().regex(TOOL_PATTERN, "must be a tool's name, or a text with * for any characters");

/** What the configuration file may say. A member that is left out, or left blank, is empty. */
export const ConfigFile = z.strictObject({
  version: z.literal(1).optional().describe('Of this format'),
  mcpServers: z.record(SourceName, McpServerSettings).default({}).describe('As other MCP hosts have it'),
  openapi: z.record(SourceName, OpenApiImportSettings).default({}).describe('Name of an import → what is imported'),
  tools: z.record(ToolPattern, ToolOverride).default({}).describe('Name or pattern → what is said instead of the tool'),
});
export type ConfigFile = Readonly<z.infer<typeof ConfigFile>>;
