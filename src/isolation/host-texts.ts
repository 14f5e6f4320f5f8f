import { isSafe, type Tool } from '../tools/tool.ts';

const UNSURE = 'It may or may not have taken effect. Check before calling it again.';

export const crashedText = (tool: Tool): string =>
  isSafe(tool)
    ? `Tool '${tool.name}' crashed while running. It is safe to call it again; other arguments may help.`
    : `Tool '${tool.name}' crashed while running. ${UNSURE}`;

export const outOfMemoryText = (tool: Tool): string =>
  isSafe(tool)
    ? `Tool '${tool.name}' ran out of memory. It is safe to call it again; ask for less.`
    : `Tool '${tool.name}' ran out of memory. ${UNSURE}`;

/** `seconds`: when its process is started again; 0 = at the next call. */
export const notStartedText = (tool: Tool, seconds: number): string =>
  `Tool '${tool.name}' was not run: its process does not start. Try again ${
    seconds === 0 ? 'later' : `in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}`
  }, or use another tool.`;
