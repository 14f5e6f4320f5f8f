import type { Config } from '../config/settings/config.ts';
import type { HttpParts } from '../http/wire-http.ts';
import { PACKAGES } from '../packages.ts';

/** What packages add to the HTTP side. Of what settings switch off, nothing is loaded. */
export const loadHttpPackages = async ({
  CONSOLE,
  MCP_SERVER,
}: Config): Promise<Pick<HttpParts, 'dialects' | 'consoleFiles' | 'addMcpRoute'>> => ({
  dialects: PACKAGES.dialects,
  consoleFiles: CONSOLE ? (await PACKAGES.console()).loadConsoleFiles() : null,
  addMcpRoute: MCP_SERVER ? (await PACKAGES.mcpServer()).addMcpRoute : null,
});
