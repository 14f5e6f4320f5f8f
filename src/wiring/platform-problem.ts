/** Why the service cannot serve on this platform, in one sentence; null where it can. Named as `process.platform` does. */
export const toPlatformProblem = (platform: string): string | null =>
  platform === 'win32' ? 'Windows is not supported: start the service in WSL, or run its container.' : null;
