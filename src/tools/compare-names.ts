/** The order of the catalogue: by name, in code units. */
export const compareNames = (a: { readonly name: string }, b: { readonly name: string }): number => {
  if (a.name === b.name) return 0;
  return a.name < b.name ? -1 : 1;
};
