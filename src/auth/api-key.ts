/** What is wrong with an entry of API_KEYS or a line of API_KEYS_FILE; null where nothing is. */
export const findKeyMistake = (entry: string): string | null =>
  /^[a-z0-9][a-z0-9_-]{0,63}=[0-9a-f]{64}$/.test(entry)
    ? null
    : 'must be a comma-separated list of tenant=SHA-256, for example acme=5e88…';
