const ABOUT = Symbol.for('recourse.definition');

/** What a refused declaration is about: `tool` is null where it has no usable name. */
export type RefusedDefinition = { readonly tool: string | null; readonly member: string };

/** Refuses a declaration: a TypeError whose stack begins where `declare` was called. */
export const createDefinitionError = (
  text: string,
  about: RefusedDefinition,
  declare: (...definition: never) => unknown,
  options: ErrorOptions = {},
): TypeError => {
  const error = new TypeError(text, options);
  Error.captureStackTrace(error, declare);
  // Not to be seen: it is a TypeError like others to whoever catches it.
  return Object.defineProperty(error, ABOUT, { value: about });
};

/** What it is about, where a declaration was refused by it, in whichever copy of this module; else null. */
export const readDefinitionError = (thrown: unknown): RefusedDefinition | null => {
  const about: unknown = thrown instanceof TypeError ? Reflect.get(thrown, ABOUT) : undefined;
  return isAbout(about) ? about : null;
};

const isAbout = (about: unknown): about is RefusedDefinition =>
  typeof about === 'object' && about !== null && 'tool' in about && 'member' in about;
