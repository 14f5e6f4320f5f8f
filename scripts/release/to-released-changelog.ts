const HEADING = '## Unreleased\n';

/** The changelog with its section Unreleased as that of a version, and an empty one above. Throws where there is nothing in it. */
export const toReleasedChangelog = (text: string, version: string, date: string): string => {
  const [before, after, ...others] = text.split(HEADING);
  if (before === undefined || after === undefined || others.length > 0)
    throw new Error(`CHANGELOG.md must have one section "${HEADING.trim()}".`);
  const section = after.split(/^## /m)[0] ?? '';
  if (section.trim() === '') throw new Error('CHANGELOG.md has nothing under "## Unreleased": write what has changed.');
  return `${before}${HEADING}\n## ${version} - ${date}\n${after}`;
};
