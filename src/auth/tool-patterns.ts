import type { Caller } from './caller.ts';

/** The tools that a credential names. */
export type AllowedTools = Pick<Caller, 'tools' | 'mayUse'>;

export const ALL_TOOLS: AllowedTools = { tools: 'all', mayUse: () => true };

/** Whether a text is a tool's name, the beginning of some (`github_*`), or `*` for all. */
export const isToolPattern = (text: string): boolean => text === '*' || /^[A-Za-z0-9_.-]{1,64}\*?$/.test(text);

/** The tools that patterns allow; what is no pattern allows none. */
export const toAllowedTools = (patterns: readonly string[]): AllowedTools => {
  if (patterns.includes('*')) return ALL_TOOLS;
  const right = patterns.filter(isToolPattern);
  const names = new Set(right.filter((pattern) => !pattern.endsWith('*')));
  const beginnings = right.filter((pattern) => pattern.endsWith('*')).map((pattern) => pattern.slice(0, -1));
  const mayUse = (tool: string): boolean =>
    names.has(tool) || beginnings.some((beginning) => tool.startsWith(beginning));
  return { tools: 'some', mayUse };
};
