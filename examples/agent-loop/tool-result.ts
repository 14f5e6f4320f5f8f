/** One call as the model asks for it. */
export type ToolCall = {
  readonly id: string;
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
};

/** What this loop reads of a result. The client's has more. */
export type ToolResult = {
  readonly name: string | null;
  readonly success: boolean;
  readonly outcome: string;
  readonly value: unknown;
  /** For the model. Nothing here decides by it. */
  readonly message: string;
  readonly error: { readonly code: string; readonly fatal: boolean } | null;
  readonly retry: { readonly allowed: boolean; readonly limit: number; readonly remaining: number } | null;
};
