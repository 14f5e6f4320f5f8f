import { basename, dirname, extname, relative, resolve, sep } from 'node:path';
import { withLookahead } from 'recourse-server/tools/describe-value';
import type { ToolFile } from 'recourse-server/tools/tool';
import { findUnsent } from './effect-id-use.ts';
import { createLoadProblem, findLineAndColumn, type LoadProblem, type SourcePlace } from './load-problem.ts';
import type { FailedFile, LoadedFacts, LoadedFile, ThrownAtLoad } from './load-tool-file.ts';
import { isApi } from './tool-imports.ts';

/** Why a file cannot be loaded: where, and what its author should write instead. */
export const describeFailed = (file: ToolFile, failed: Omit<FailedFile, 'kind'>): LoadProblem => {
  const explained = explainFailed(file, failed);
  const { tool = null, member = null, place = null } = failed.thrown ?? {};
  // What a refused declaration says is written for its author.
  const refusal = member === null ? explained?.message : failed.reason.replace(/^TypeError: /, '');
  const message = explainReason(refusal ?? failed.reason, file.root);
  return createLoadProblem(file, { message, tool, member, place: explained?.place ?? place });
};

/** What is wrong with a file that can be loaded; `isAllowed`: whether the operator lets tools have the variable of this name. */
export const findProblems = (
  file: ToolFile,
  { tools, unexported, lookalikes }: LoadedFile,
  isAllowed: (name: string) => boolean,
): readonly LoadProblem[] => [
  ...unexported.map((facts) => describeUnexported(file, facts)),
  ...lookalikes.map(({ exportName, tool }) =>
    createLoadProblem(file, {
      message: `The export '${exportName}' looks like a tool but is not one. Write \`defineTool({ … })\` around it.`,
      tool,
      place: findExport(file, exportName),
    }),
  ),
  ...findUnsent(file, tools).map((facts) => describeUnsent(file, facts)),
  ...findRefusedVariables(file, tools, isAllowed),
];

const escapePattern = (name: string): string => name.replace(/\W/g, '\\$&');

// `export` and the name that it exports; a text is looked through in a time that grows with its length alone.
const MOST_BEFORE_NAME = 200;

const findExport = ({ path, sources }: ToolFile, name: string): SourcePlace | null => {
  const text = sources.get(path) ?? '';
  const found = (
    name === 'default'
      ? /\bexport\s+default\b/
      : new RegExp(`\\bexport\\s[^\\n]{0,${MOST_BEFORE_NAME}}\\b${escapePattern(name)}(?![\\w$])`)
  ).exec(text);
  return found === null ? null : { path, ...findLineAndColumn(text, found.index) };
};

const describeUnexported = (file: ToolFile, { role, name, place }: LoadedFacts): LoadProblem =>
  createLoadProblem(file, {
    message: `The ${role} '${name}' is declared but not exported, so it is not available. Write \`export const … = define${role === 'tool' ? 'Tool' : 'Reducer'}({ … })\`, or export a list of them.`,
    tool: name,
    place,
  });

const describeUnsent = (file: ToolFile, { name, place }: LoadedFacts): LoadProblem =>
  createLoadProblem(file, {
    level: 'mistake',
    message: `Tool '${name}' has a reconcile, but its run does not use effectId: a later look cannot find what was not sent upstream. Write \`run: (input, { effectId }) => …\` and send effectId as the idempotency key or the reference of the write.`,
    tool: name,
    member: 'run',
    place,
  });

/** At most one problem a file: its tools mostly share their variables. */
const findRefusedVariables = (
  file: ToolFile,
  tools: readonly LoadedFacts[],
  isAllowed: (name: string) => boolean,
): readonly LoadProblem[] => {
  const refused = tools.filter(({ env }) => !env.every(isAllowed));
  const [first, ...others] = refused;
  if (first === undefined) return [];
  const variables = [...new Set(refused.flatMap(({ env }) => env.filter((variable) => !isAllowed(variable))))];
  const names = refused.map(({ name }) => `'${name}'`).join(', ');
  const who = others.length === 0 ? `Tool ${names} requests` : `Tools ${names} request`;
  return [
    createLoadProblem(file, {
      level: 'warning',
      message: `${who} ${variables.join(', ')}, which TOOLS_ENV_ALLOW does not allow.`,
      tool: first.name,
      member: 'env',
      place: first.place,
    }),
  ];
};

/** What is wrong and what to write instead; `place` is null where `thrown` may have it. */
type Explained = { readonly message: string; readonly place: SourcePlace | null };

/** Why a file cannot be loaded, in words for its author; null where what it threw says all that is known. */
export const explainFailed = (file: ToolFile, { reason, thrown }: Omit<FailedFile, 'kind'>): Explained | null => {
  if (thrown !== null)
    return explainMissingFile(thrown, file) ?? explainMissingPackage(thrown, file) ?? explainSyntax(thrown);
  if (!/did not finish loading within [\d.]+ s$/.test(reason)) return null;
  const what = reason.charAt(0).toUpperCase() + reason.slice(1);
  return {
    message: `${what}. Loading a file must not wait or compute for long: move that work into run.`,
    place: null,
  };
};

const explainMissingFile = ({ message }: ThrownAtLoad, file: ToolFile): Explained | null => {
  const [, missing, importer] = /^Cannot find module '(\/[^']+)' imported from (\/.+)$/.exec(message) ?? [];
  if (missing === undefined || importer === undefined) return null;
  const written = findSpecifier(importer, file, (specifier) => resolve(dirname(importer), specifier) === missing);
  const specifier = written?.specifier ?? basename(missing);
  const better = findMeantFile(missing, file);
  const advice =
    better === null
      ? 'There is no such file in the tools directory.'
      : `Write '${relative(dirname(importer), better).replace(/^(?!\.)/, './')}': imports must have the file extension.`;
  return { message: `It imports '${specifier}', which is not a file. ${advice}`, place: written?.place ?? null };
};

const EXTENSIONS = ['.ts', '.mts', '.js', '.mjs', '.cts', '.cjs', '.json'];

const findMeantFile = (missing: string, { sources }: ToolFile): string | null => {
  const stem = missing.slice(0, missing.length - extname(missing).length);
  const starts = [missing, stem, `${missing}/index`];
  const candidates = starts.flatMap((start) => EXTENSIONS.map((extension) => start + extension));
  return candidates.find((path) => sources.has(path)) ?? null;
};

/** The import in the text of `importer` that is meant, and where it stands. */
const findSpecifier = (
  importer: string,
  { sources }: ToolFile,
  isMeant: (specifier: string) => boolean,
): { readonly specifier: string; readonly place: SourcePlace } | null => {
  const text = sources.get(importer) ?? '';
  for (const { 0: whole, 1: start = '', 2: specifier = '', index } of text.matchAll(IMPORT)) {
    if (!isMeant(specifier)) continue;
    const at = index + start.length;
    return whole === '' ? null : { specifier, place: { path: importer, ...findLineAndColumn(text, at) } };
  }
  return null;
};

const IMPORT = /(\b(?:from|import|require)\s*(?:\(\s*)?)['"]([^'"\n]+)['"]/g;

const explainMissingPackage = ({ message }: ThrownAtLoad, file: ToolFile): Explained | null => {
  const [, name, importer] = /^Cannot find package '([^']+)' imported from (\/.+)$/.exec(message) ?? [];
  const [, required, from] = /^Cannot find module '([^'./][^']*)'\nRequire stack:\n- (\/.+)/.exec(message) ?? [];
  const wanted = name ?? required;
  const path = importer ?? from;
  if (wanted === undefined || path === undefined) return null;
  const isMeant = (specifier: string): boolean => specifier === wanted || specifier.startsWith(`${wanted}/`);
  const place = findSpecifier(path, file, isMeant)?.place ?? null;
  // npm's `recourse` is an unrelated package: it must not be recommended.
  if (isApi(wanted))
    return { message: `It imports '${wanted}/testing', which is for tests. Name a test file *.test.ts.`, place };
  const zod = wanted === 'zod' ? " Or write `import { z } from 'recourse-server'`, which needs no installation." : '';
  const advice = `Run \`npm install ${wanted}\` in TOOLS_DIR.`;
  return { message: `It imports the package '${wanted}', which is not installed. ${advice}${zod}`, place };
};

const explainSyntax = ({ name, code, message }: ThrownAtLoad): Explained | null => {
  if (code === 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX') {
    const what = message.replace(/ is not supported in strip-only mode$/, '');
    const advice = 'Write it in JavaScript with types.';
    return { message: `${what} cannot be used: Node strips types and compiles nothing. ${advice}`, place: null };
  }
  return name === 'SyntaxError' ? { message: `Syntax error: ${message}.`, place: null } : null;
};

const MAX_REASON = 500;
const ABSOLUTE_PATH = /(?<![\w:/.])\/(?:[\w.@+-]+\/)+[\w.@+-]+/g;

/** Why a file cannot be used, as one line for people: no host paths, at most 500 characters to be shown. */
const explainReason = (text: string, root: string): string => {
  const line = text
    .replaceAll('file://', '')
    .replaceAll(root + sep, '')
    .replace(ABSOLUTE_PATH, (path) => `…/${basename(path)}`)
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim();
  return withLookahead(line === '' ? 'It cannot be loaded, for an unknown reason.' : line, MAX_REASON);
};
