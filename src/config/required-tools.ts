import type { Config } from './settings/config.ts';

/** What TOOLS_REQUIRED says. */
export type RequiredTools = {
  /** Every file of TOOLS_DIR, every MCP server and every import must have loaded. */
  readonly all: boolean;
  readonly names: readonly string[];
  /** Every tool whose name begins so must serve, and there must be one. */
  readonly prefixes: readonly string[];
};

const isPrefix = (entry: string): boolean => /[_.-]$/.test(entry);

export const toRequiredTools = ({ TOOLS_REQUIRED }: Pick<Config, 'TOOLS_REQUIRED'>): RequiredTools => {
  const entries = TOOLS_REQUIRED.filter((entry) => entry !== 'all');
  return {
    all: entries.length < TOOLS_REQUIRED.length,
    names: entries.filter((entry) => !isPrefix(entry)),
    prefixes: entries.filter(isPrefix),
  };
};
