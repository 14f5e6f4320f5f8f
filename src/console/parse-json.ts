export type Parsed =
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'broken'; readonly why: string };

/** What a JSON text says, or the parser's message. */
export const parseJson = (text: string): Parsed => {
  try {
    return { kind: 'value', value: JSON.parse(text) };
  } catch (error) {
    return { kind: 'broken', why: error instanceof Error ? error.message : 'not JSON' };
  }
};
