/** Memory of this process that is in RAM, in bytes; 0 where the system does not tell (Linux without /proc). */
export const readResidentMemory = (): number => {
  try {
    return process.memoryUsage.rss();
  } catch (_unknown) {
    return 0;
  }
};
