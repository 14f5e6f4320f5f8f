/** Loads what imports `node:sqlite`. Node 24 warns of it alone on stderr; other warnings stay. */
export const withoutSqliteWarning = async <Module>(load: () => Promise<Module>): Promise<Module> => {
  const { emitWarning } = process;
  const emitOthers = (...words: Parameters<typeof emitWarning>): void => {
    if (!String(words[0]).startsWith('SQLite is an experimental feature')) Reflect.apply(emitWarning, process, words);
  };
  Reflect.set(process, 'emitWarning', emitOthers);
  try {
    return await load();
  } finally {
    Reflect.set(process, 'emitWarning', emitWarning);
  }
};
