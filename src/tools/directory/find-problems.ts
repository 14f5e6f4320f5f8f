import { basename } from 'node:path';
import type { ToolFile } from '../tool.ts';
import { explainFailed } from './explain-thrown.ts';
import { toFileReason } from './file-reason.ts';
import { type LoadProblem, toLoadProblem } from './load-problem.ts';
import type { LoadedFacts, LoadedToolFile } from './load-tool-file.ts';
import { toLineAndColumn } from './locate-member.ts';
import type { SourcePlace } from './source-place.ts';

/** Why a file cannot be loaded: where, and what its author should write instead. */
export const describeFailed = (file: ToolFile, failed: Extract<LoadedToolFile, { kind: 'failed' }>): LoadProblem => {
  const explained = explainFailed(file, failed);
  const { tool = null, member = null, place = null } = failed.thrown ?? {};
  const why = failed.reason.replace(/^TypeError: /, member === null ? '$&' : '');
  const message = toFileReason(member === null ? (explained?.message ?? why) : why, file.root);
  return toLoadProblem(file, { message, tool, member, place: explained?.place ?? place });
};

/** Whether the operator lets tools have the variable of this name. */
export type IsAllowed = (name: string) => boolean;

/** What is wrong with a file that can be loaded. */
export const findProblems = (
  file: ToolFile,
  { tools, unexported, lookalikes }: Extract<LoadedToolFile, { kind: 'loaded' }>,
  isAllowed: IsAllowed,
): readonly LoadProblem[] => [
  ...unexported.map((facts) => toUnexported(file, facts)),
  ...lookalikes.map(({ exportName, tool }) =>
    toLoadProblem(file, {
      message: `The export '${exportName}' looks like a tool and is none. Write \`defineTool({ … })\` around it.`,
      tool,
      place: findExport(file, exportName),
    }),
  ),
  ...tools.flatMap((facts) => findRefusedVariables(file, facts, isAllowed)),
  ...(tools.length + unexported.length + lookalikes.length === 0 && !isMentioned(file) ? [toUseless(file)] : []),
];

/** Whether any other file of the directory has its name in a text: it is there to be imported. */
const isMentioned = ({ path, sources }: ToolFile): boolean => {
  const stem = basename(path).replace(/\.[^.]+$/, '');
  const isNamed = new RegExp(`['"\`/]${toPattern(stem)}(?:\\.[cm]?[jt]s)?['"\`]`);
  return [...sources].some(([other, text]) => other !== path && isNamed.test(text));
};

const toPattern = (name: string): string => name.replace(/\W/g, '\\$&');

const toUseless = (file: ToolFile): LoadProblem =>
  toLoadProblem(file, {
    level: 'warning',
    message: 'It exports no tool, and no other file imports it. Export what `defineTool` returns.',
    place: null,
  });

// `export` and the name that it exports; a text is looked through in a time that grows with its length alone.
const MOST_BEFORE_NAME = 200;

const findExport = ({ path, sources }: ToolFile, name: string): SourcePlace | null => {
  const text = sources.get(path) ?? '';
  const found = (
    name === 'default'
      ? /\bexport\s+default\b/
      : new RegExp(`\\bexport\\s[^\\n]{0,${MOST_BEFORE_NAME}}\\b${toPattern(name)}(?![\\w$])`)
  ).exec(text);
  return found === null ? null : { path, ...toLineAndColumn(text, found.index) };
};

const toUnexported = (file: ToolFile, { role, name, place }: LoadedFacts): LoadProblem =>
  toLoadProblem(file, {
    message: `The ${role} '${name}' is declared and not exported, so it does not serve. Write \`export const … = define${role === 'tool' ? 'Tool' : 'Reducer'}({ … })\`, or export a list of them.`,
    tool: name,
    place,
  });

const findRefusedVariables = (file: ToolFile, { name, env, place }: LoadedFacts, isAllowed: IsAllowed) =>
  env
    .filter((variable) => !isAllowed(variable))
    .map((variable) =>
      toLoadProblem(file, {
        level: 'warning',
        message: `Tool '${name}' asks for ${variable}, which TOOLS_ENV_ALLOW does not allow.`,
        tool: name,
        member: 'env',
        place,
      }),
    );
