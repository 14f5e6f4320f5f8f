import { createLoadConfigFile } from '#src/config/file/load-config-file.ts';

const loadConfigFile = await createLoadConfigFile();

const load = (text: string, environment: Readonly<Record<string, string>> = {}) =>
  loadConfigFile({ file: 'c.yaml', text, environment });

export const mistakesOf = (text: string, environment: Readonly<Record<string, string>> = {}): readonly string[] => {
  const loaded = load(text, environment);
  return loaded.ok ? [] : loaded.mistakes;
};

export const contentOf = (text: string, environment: Readonly<Record<string, string>> = {}) => {
  const loaded = load(text, environment);
  if (!loaded.ok) throw new Error(loaded.mistakes.join('\n'));
  return loaded.content;
};
