// Kept here, before a tool's code could put its own in their place.
const { exit, abort, kill, pid } = process;

/** Calls `announce` before code of this process ends it by `process.exit`, `process.abort` or a signal to itself. */
export const announceLeaving = (announce: () => void): void => {
  process.exit = (code) => {
    announce();
    return exit.call(process, code);
  };
  process.abort = () => {
    announce();
    return abort.call(process);
  };
  process.kill = (target, signal) => {
    if (Math.abs(target) === pid && signal !== 0) announce();
    return kill.call(process, target, signal);
  };
};
