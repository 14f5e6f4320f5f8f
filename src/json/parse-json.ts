export type ParsedJson =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problem: string };

/** JSON.parse as a value. The problem always says where: V8 leaves the position out of its commonest message. */
export const parseJson = (text: string): ParsedJson => {
  const problem = problemOf(text);
  return typeof problem === 'object'
    ? { ok: true, value: problem.value }
    : { ok: false, problem: withPosition(problem, text) };
};

const problemOf = (text: string): string | { readonly value: unknown } => {
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
};

const isUnexpectedToken = (text: string): boolean => {
  const problem = problemOf(text);
  return typeof problem === 'string' && namesToken(problem);
};

// V8 has a message of its own for NaN, undefined and [object Object], and for other short texts: `"NaN" is not valid JSON`.
const namesToken = (problem: string): boolean => /^(Unexpected token|".*" is not valid JSON$)/s.test(problem);

const withPosition = (problem: string, text: string): string => {
  if (problem.startsWith('Unexpected end')) return `unexpected end at position ${text.length}`;
  if (!namesToken(problem)) return problem.replace(/ in JSON(?= at )/, '').replace(/ \(line.*$/s, '');
  // The shortest prefix that is wrong, and not only incomplete, ends with the culprit.
  let right = text.length;
  for (let left = 1; left < right; ) {
    const middle = (left + right) >> 1;
    if (isUnexpectedToken(text.slice(0, middle))) right = middle;
    else left = middle + 1;
  }
  return `unexpected token ${JSON.stringify(text[right - 1])} at position ${right - 1}`;
};
