import { createOverrideLookup } from '../tools/tool-override.ts';
import type { ConfigContent } from './file/load-config-file.ts';
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

/** Entries of TOOLS_REQUIRED that no start can meet, since the configuration file disables their tools: one sentence each. */
export const findDisabledRequired = (config: Config, { tools }: Pick<ConfigContent, 'tools'>): readonly string[] => {
  const { names, prefixes } = toRequiredTools(config);
  const lookup = createOverrideLookup(tools);
  const enables = (prefix: string): boolean =>
    [...tools].some(([pattern, { enabled }]) => enabled === true && pattern.startsWith(prefix));
  const disabled = [
    ...names.map((name) => ({ entry: name, pattern: lookup(name).disabledBy })),
    // A name of which the file says nothing of its own stands for all of them.
    ...prefixes.map((prefix) => ({ entry: prefix, pattern: enables(prefix) ? null : lookup(`${prefix}_`).disabledBy })),
  ];
  return disabled.flatMap(({ entry, pattern }) =>
    pattern === null
      ? []
      : [
          `TOOLS_REQUIRED names '${entry}', which the configuration file disables: tools['${pattern}'].enabled is false. Enable it, or remove it from TOOLS_REQUIRED.`,
        ],
  );
};
