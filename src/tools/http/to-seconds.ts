/** A time as a message says it: whole seconds, at least one. */
export const toSeconds = (ms: number): string => {
  const seconds = Math.max(1, Math.ceil(ms / 1_000));
  return seconds === 1 ? '1 second' : `${seconds} seconds`;
};
