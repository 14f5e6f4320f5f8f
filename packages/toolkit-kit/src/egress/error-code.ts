/** The `code` an error of Node or undici carries, else its name, else `UNKNOWN`. */
export const codeOf = (thrown: unknown): string => {
  if (typeof thrown !== 'object' || thrown === null) return 'UNKNOWN';
  if ('code' in thrown && typeof thrown.code === 'string') return thrown.code;
  return thrown instanceof Error ? thrown.name : 'UNKNOWN';
};
