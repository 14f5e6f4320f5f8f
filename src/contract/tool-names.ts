const MAX_LENGTH = 64;

/**
 * A tool's name as every provider can carry it: 1 to 64 of `A–Z a–z 0–9 _ -`, the first a letter or `_`. OpenAI and
 * Anthropic refuse dots, Gemini refuses a digit or a dash in front. The same for most names; where two tools come to
 * the same one, the registry refuses the second, so that a name can be mapped back.
 */
export const toPortableName = (name: string): string => {
  const carried = name.replace(/[^A-Za-z0-9_-]/g, '_');
  return (/^[A-Za-z_]/.test(carried) ? carried : `_${carried}`).slice(0, MAX_LENGTH);
};

/** Whether a text is a tool's name. */
export const isToolName = (text: string): boolean => /^[A-Za-z0-9_.-]{1,64}$/.test(text);

/** Whether a text is a tool's name, the beginning of some (`github_*`), or `*` for all. */
export const isToolPattern = (text: string): boolean => text === '*' || isToolName(text.replace(/\*$/, ''));

/** Whether a name fits one of the patterns. What is no pattern fits none. */
export const createToolFilter = (patterns: readonly string[]): ((tool: string) => boolean) => {
  const right = patterns.filter(isToolPattern);
  const names = new Set(right.filter((pattern) => !pattern.endsWith('*')));
  const beginnings = right.filter((pattern) => pattern.endsWith('*')).map((pattern) => pattern.slice(0, -1));
  return (tool) => names.has(tool) || beginnings.some((beginning) => tool.startsWith(beginning));
};
