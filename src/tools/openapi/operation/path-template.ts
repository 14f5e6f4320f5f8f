import { OperationProblem } from '../document/references.ts';
import type { Parameter } from './parameters.ts';

/** Where an operation is: its path, and what is always asked behind it, both with `{placeholders}`. */
export type PathTemplate = {
  readonly path: string;
  /** '' = nothing. */
  readonly query: string;
};

/** `/a?b=c#d`: the path, what stands behind its `?`, and no fragment: that only tells two operations of a document apart. */
export const toPathTemplate = (text: string): PathTemplate => {
  const [whole = '', fragment = ''] = text.split('#', 2);
  // A path goes on behind it: what that is to be is not known.
  if (/[/{]/.test(fragment)) throw new OperationProblem(`Its path ${text.slice(0, 200)} is not one that can be asked.`);
  const [path = ''] = whole.split('?', 1);
  return { path, query: whole.slice(path.length + 1) };
};

/**
 * Which of the two says it where the path and a parameter of the query have one name: `?action=list` is always sent, and
 * the parameter is no argument; of `?id={id}` the parameter is.
 */
export const settleQuery = (
  { path, query }: PathTemplate,
  parameters: readonly Parameter[],
): PathTemplate & { readonly parameters: readonly Parameter[] } => {
  const names = new Set(parameters.filter((one) => one.in === 'query').map(({ name }) => name));
  const pairs = query.split('&').filter((pair) => !(names.has(nameOf(pair)) && /=\{[^{}]*\}$/.test(pair)));
  const fixed = new Set(pairs.map(nameOf));
  const isNeeded = (one: Parameter): boolean =>
    one.in === 'path'
      ? `${path}?${pairs.join('&')}`.includes(`{${one.name}}`)
      : one.in !== 'query' || !fixed.has(one.name);
  return { path, query: pairs.join('&'), parameters: parameters.filter(isNeeded) };
};

const nameOf = (pair: string): string => pair.split('=', 1)[0] ?? '';

/** Throws an OperationProblem where no request can be made of it. */
export const checkTemplate = ({ path, query }: PathTemplate, parameters: readonly Parameter[]): void => {
  const literal = path.replace(/\{[^{}]*\}/g, 'x');
  if (/[\\{}]/.test(literal) || literal.split('/').some((segment) => /^(\.|%2e){1,2}$/i.test(segment)))
    throw new OperationProblem(`Its path ${path.slice(0, 200)} is not one that can be asked.`);
  for (const [, name] of `${path}?${query}`.matchAll(/\{([^{}]*)\}/g))
    if (!parameters.some((parameter) => parameter.in === 'path' && parameter.name === name))
      throw new OperationProblem(`Its path needs {${name}}, for which it has no parameter.`);
};
