/** A POST as the load sends it. */
export type LoadMessage = {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};
