import { expect } from 'vitest';
import { type Config, loadConfig } from '#src/config/settings/config.ts';

/** What is said of these settings; empty where they are right. */
export const mistakesOf = (environment: Readonly<Record<string, string | undefined>>): readonly string[] => {
  const loaded = loadConfig(environment);
  return 'mistakes' in loaded ? loaded.mistakes : [];
};

/** The same without what to write instead, which stands behind a colon. */
export const rulesBrokenBy = (environment: Readonly<Record<string, string | undefined>>): readonly string[] =>
  mistakesOf(environment).map((mistake) => mistake.replace(/: (?:write |put |the quotes |'.*' (?:is|has) ).*$/, ''));

/** The settings, which must be right. */
export const configOf = (environment: Readonly<Record<string, string | undefined>>): Config => {
  expect(mistakesOf(environment)).toEqual([]);
  return loadConfig(environment).config;
};
