/** Whether a text is a tool's name, the beginning of some (`github_*`), or `*` for all. */
export const isToolPattern = (text: string): boolean => text === '*' || /^[A-Za-z0-9_.-]{1,64}\*?$/.test(text);

/** Whether a name fits one of the patterns. What is no pattern fits none. */
export const toToolFilter = (patterns: readonly string[]): ((tool: string) => boolean) => {
  const right = patterns.filter(isToolPattern);
  const names = new Set(right.filter((pattern) => !pattern.endsWith('*')));
  const beginnings = right.filter((pattern) => pattern.endsWith('*')).map((pattern) => pattern.slice(0, -1));
  return (tool) => names.has(tool) || beginnings.some((beginning) => tool.startsWith(beginning));
};
