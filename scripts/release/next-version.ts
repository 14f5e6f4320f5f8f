const VERSION = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$/;

const toParts = (version: string): readonly number[] | null => VERSION.exec(version)?.slice(1).map(Number) ?? null;

/** The version that `major`, `minor`, `patch` or a version itself means after `current`. Throws where it is none, or is older. */
export const nextVersion = (current: string, word: string): string => {
  const [major = 0, minor = 0, patch = 0] = toParts(current) ?? [];
  if (word === 'major') return `${major + 1}.0.0`;
  if (word === 'minor') return `${major}.${minor + 1}.0`;
  if (word === 'patch') return `${major}.${minor}.${patch + 1}`;
  const [toMajor, toMinor = 0, toPatch = 0] = toParts(word) ?? [];
  if (toMajor === undefined)
    throw new Error(`'${word}' is no version: give major, minor, patch, or one such as 1.2.3.`);
  const isOlder = toMajor - major || toMinor - minor || toPatch - patch;
  if (isOlder < 0) throw new Error(`${word} is older than the current version, ${current}.`);
  return word;
};
