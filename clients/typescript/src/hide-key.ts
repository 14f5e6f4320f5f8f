/** Takes the client's key out of what is thrown: an address that echoes requests, or a page that lists them, repeats it. */
export type HideKey = {
  readonly inText: (text: string) => string;
  /** Changes the error itself and its causes: Node's own quote the bytes that came. */
  readonly inCause: (cause: unknown) => void;
};

const PLACEHOLDER = '[api key]';
// A shorter one would be found in the middle of words.
const MIN_LENGTH = 8;
// Node nests two: what fetch throws, and the system's error in it.
const MAX_CAUSES = 5;

export const createHideKey = (apiKey: string | undefined): HideKey => {
  const key = apiKey?.trim() ?? '';
  if (key.length < MIN_LENGTH) return { inText: (text) => text, inCause: () => undefined };
  const inText = (text: string): string => text.replaceAll(key, PLACEHOLDER);
  const inCause = (cause: unknown): void => {
    let error = cause;
    for (let depth = 0; depth < MAX_CAUSES && error instanceof Error; depth += 1) {
      hideInMembers(error, inText);
      error = error.cause;
    }
  };
  return { inText, inCause };
};

// `message` and `stack` are own members too, which no enumeration shows.
const hideInMembers = (error: Error, inText: HideKey['inText']): void => {
  for (const name of Reflect.ownKeys(error)) {
    const value: unknown = Reflect.get(error, name);
    if (typeof value === 'string' && inText(value) !== value) Reflect.set(error, name, inText(value));
  }
};
