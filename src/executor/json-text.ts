/** The place after the JSON string whose content begins at `start`. */
export const skipString = (json: string, start: number): number => {
  for (let end = json.indexOf('"', start); end !== -1; end = json.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (json[end - 1 - backslashes] === '\\') backslashes += 1;
    if (backslashes % 2 === 0) return end + 1;
  }
  return json.length;
};

/** Whether a JSON text nests arrays and objects deeper than `levels`. Never recursive. */
export const isDeeperThan = (json: string, levels: number): boolean => {
  if (json.length <= 2 * levels) return false;
  const structure = /["[\]{}]/g;
  let depth = 0;
  for (let token = structure.exec(json); token !== null && depth <= levels; token = structure.exec(json)) {
    const [sign] = token;
    if (sign === '"') structure.lastIndex = skipString(json, structure.lastIndex);
    else depth += sign === '[' || sign === '{' ? 1 : -1;
  }
  return depth > levels;
};
