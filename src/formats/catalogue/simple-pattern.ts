/** Whether a regular expression does without what the grammars of providers lack: looking around, back-references, `\b`, `\p`. */
export const isSimplePattern = (pattern: unknown): boolean =>
  typeof pattern === 'string' && pattern.length <= 500 && !/\(\?(?!:)|\\[1-9bBkpP]/.test(pattern);
