import { dirname, resolve } from 'node:path';
import type { ToolFile } from 'recourse-server/tools/tool';
import type { LoadedFacts } from './load-tool-file.ts';
import { isApi } from './tool-imports.ts';

/**
 * Those of a file's tools that have a `reconcile` and whose `run` does not use `effectId`, so that no look can find what it sent.
 * Where `run` hands its context on, the code that may get it is all that the file imports: what of this is not in the directory is
 * believed to use it.
 */
export const findUnsent = (file: ToolFile, tools: readonly LoadedFacts[]): readonly LoadedFacts[] => {
  const found = tools.flatMap((facts) => {
    const { handlerTexts: texts } = facts;
    return texts === null ? [] : [{ facts, texts, use: classifyUse(texts.run) }];
  });
  const looks = new Set(found.map(({ texts }) => texts.reconcile));
  const isUsedBelow = found.some(({ use }) => use === 'handed_on') && mayBeUsed(file, looks);
  return found.flatMap(({ facts, use }) => (use === 'used' || (use === 'handed_on' && isUsedBelow) ? [] : [facts]));
};

const MENTION = /\beffectId\b/g;

const GROUP = String.raw`\{(?:[^{}]|\{[^{}]*\})*\}`;
/** Of a function that is plainly written: a name or pattern for its arguments, and one for its context. */
const HEAD = new RegExp(
  String.raw`^(?:async\b\s*)?(?:function\b\s*)?\*?\s*[\w$]*\s*\(\s*(?:[\w$]+|${GROUP})?\s*(?:,\s*(?:(?<name>[\w$]+)|(?<pattern>${GROUP}))\s*)?,?\s*\)\s*(?:=>|\{)|^(?:async\b\s*)?[\w$]+\s*=>`,
);

/** What a handler does with the effect id, by its text. `handed_on`: that cannot be told without the code that it calls. */
const classifyUse = (text: string): 'used' | 'missing' | 'handed_on' => {
  if (text.search(MENTION) !== -1) return 'used';
  const head = HEAD.exec(text);
  if (head === null || /\barguments\b/.test(text)) return 'handed_on';
  const { name, pattern = '' } = head.groups ?? {};
  if (name === undefined) return pattern.includes('...') ? 'handed_on' : 'missing';
  const whole = new RegExp(String.raw`(?<![\w$.])${name.replaceAll('$', '\\$')}(?![\w$])(?!\s*\??\.\s*[\w$])`);
  return whole.test(text.slice(head[0].length)) ? 'handed_on' : 'missing';
};

const IMPORT = /\b(?:from|import|require)\s*(?:\(\s*)?['"]([^'"\n]+)['"]/g;
/** Packages that are handed no context. */
const isHarmless = (specifier: string): boolean =>
  isApi(specifier) || specifier === 'zod' || specifier.startsWith('node:');

/** Whether the code of a file, or what it imports, mentions the effect id elsewhere than in these functions, or cannot be looked at. */
const mayBeUsed = ({ path, sources }: ToolFile, looks: ReadonlySet<string>): boolean => {
  const paths = new Set([path]);
  let mentions = 0;
  for (const each of paths) {
    const text = sources.get(each);
    if (text === undefined) return true;
    mentions += countMentions(text);
    for (const imported of findImports(text, each)) paths.add(imported);
  }
  return mentions > [...looks].reduce((sum, look) => sum + countMentions(look), 0);
};

/** Absolute paths, and names of packages. */
const findImports = (text: string, path: string): readonly string[] =>
  [...text.matchAll(IMPORT)]
    .map(([, specifier = '']) => specifier)
    .filter((specifier) => !isHarmless(specifier))
    .map((specifier) => (specifier.startsWith('.') ? resolve(dirname(path), specifier) : specifier));

const countMentions = (text: string): number => text.match(MENTION)?.length ?? 0;
